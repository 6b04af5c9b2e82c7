mod content;
mod fixture;
mod history;
mod hub;
mod lifecycle;
mod trouble;
mod waiting;
