//! The protobuf wire format: tags, varints and length-delimited bytes. Reads only what Kubernetes writes (no groups).

/// The bytes end early, a varint is too long, or a tag is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// What a field holds on the wire. Fixed-width numbers are floating point numbers; those of 32 bits stay unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Fixed(u64),
    Fixed32(u32),
}

impl Wire<'_> {
    /// Whether this is what an unset field of its type looks like. Go writes such fields all the same.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Wire::Varint(number) | Wire::Fixed(number) => *number == 0,
            Wire::Fixed32(number) => *number == 0,
            Wire::Bytes(bytes) => bytes.is_empty(),
        }
    }
}

/// Walks the fields of one message.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
        self.rest = rest;
        Ok(head)
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        // Ten groups of seven bits hold 64 bits; whatever a longer one means, it is no number.
        for shift in (0..70).step_by(7) {
            let byte = *self.take(1)?.first().ok_or(Malformed)?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn fixed(&mut self, width: usize) -> Result<u64, Malformed> {
        Ok(self
            .take(width)?
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn field(&mut self) -> Result<(u32, Wire<'a>), Malformed> {
        let tag = u32::try_from(self.varint()?).map_err(|_| Malformed)?;
        let number = tag >> 3;
        if number == 0 {
            return Err(Malformed);
        }
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed(self.fixed(8)?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                Wire::Bytes(self.take(length)?)
            }
            // Four bytes always fit.
            5 => Wire::Fixed32(u32::try_from(self.fixed(4)?).map_err(|_| Malformed)?),
            _ => return Err(Malformed),
        };
        Ok((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Wire<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            // Nothing after a broken field can be trusted; without this the iterator could go on for ever.
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_the_order_they_were_written() {
        let fields: Result<Vec<_>, _> = Fields::new(&[0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i']).collect();
        assert_eq!(fields.unwrap(), [(1, Wire::Varint(150)), (2, Wire::Bytes(b"hi"))]);
    }

    #[test]
    fn broken_fields_end_the_walk() {
        for bytes in [
            &[0x08][..],                                 // a tag without its value
            &[0x12, 0x05, 1],                            // fewer bytes than announced
            &[0x00, 0x00],                               // field number zero
            &[0x0b],                                     // a group
            &[0x80; 11],                                 // a varint without end
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2], // a length far beyond the input
        ] {
            let fields: Vec<_> = Fields::new(bytes).collect();
            assert_eq!(fields, [Err(Malformed)], "{bytes:?}");
        }
    }
}
