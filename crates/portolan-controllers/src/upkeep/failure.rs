/// Why a request was not carried out, as far as it matters for what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Somebody else was faster. What they did will be heard of.
    Conflict,
    /// The object, its namespace or its kind is not there.
    Missing,
    /// Not allowed, or the namespace is on its way out.
    Forbidden,
    /// The server does not accept the content.
    Invalid,
    /// It may work later: the network, an overloaded or a restarting server.
    Transient,
}

impl Failure {
    pub(crate) fn of(error: &kube::Error) -> Failure {
        let kube::Error::Api(status) = error else {
            return Failure::Transient;
        };
        match status.code {
            409 => Failure::Conflict,
            404 => Failure::Missing,
            401 | 403 => Failure::Forbidden,
            408 | 429 => Failure::Transient,
            400..500 => Failure::Invalid,
            _ => Failure::Transient,
        }
    }

    /// In metrics.
    pub(super) fn word(self) -> &'static str {
        match self {
            Failure::Conflict => "conflict",
            Failure::Missing => "not_found",
            Failure::Forbidden | Failure::Invalid => "refused",
            Failure::Transient => "error",
        }
    }
}
