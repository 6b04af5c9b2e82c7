mod absences;
mod deciding;
mod doubt;
mod fixture;
mod history;
mod many;
mod refusing;
