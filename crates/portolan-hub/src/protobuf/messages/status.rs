//! `Status`, which a watch ends with.

use super::meta::LIST_META;
use crate::protobuf::schema::{Message, integer, message, string};

pub(in crate::protobuf) static STATUS: Message = Message::new(
    "Status",
    &[
        message(1, "metadata", &LIST_META),
        string(2, "status"),
        string(3, "message"),
        string(4, "reason"),
        message(5, "details", &DETAILS),
        integer(6, "code"),
    ],
);

static DETAILS: Message = Message::new(
    "StatusDetails",
    &[
        string(1, "name"),
        string(2, "group"),
        string(3, "kind"),
        message(4, "causes", &CAUSE).many(),
        integer(5, "retryAfterSeconds"),
        string(6, "uid"),
    ],
);

static CAUSE: Message = Message::new(
    "StatusCause",
    &[string(1, "reason"), string(2, "message"), string(3, "field")],
);
