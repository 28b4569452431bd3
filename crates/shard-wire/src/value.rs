//! How types of the machines are written and read: values, and fields that hold them.
//!
//! A [`Value`] stands behind one key of Protocol Buffers. A [`Field`] is a value that is always
//! there, one that may be missing, or a list. There are no messages in between: the machines' own
//! types are read from the bytes, and written into them.

use std::sync::Arc;

use bytes::Bytes;
use compact_str::CompactString;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use stadium_state_machine::{PrincipalId, Time};

use crate::Error;
use crate::reader::Reader;
#[cfg(test)]
use crate::tests::{Random, Schema};

/// A value behind one key.
pub(crate) trait Value: Sized {
    /// Of its key. Only messages, texts and bytes have a length in front.
    const WIRE: WireType;

    /// The value of a field that is not written; none where it has to be.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether it is [`Self::absent`].
    fn is_absent(&self) -> bool {
        false
    }

    /// Bytes that [`Self::put`] appends.
    fn bytes(&self) -> usize;

    /// Appends the content, without key and length.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads the content; one that has a length ends where the reader ends.
    fn take(input: &mut Reader<'_>) -> Result<Self, Error>;

    /// The type in the contract. Defines it there first, where it is a message.
    #[cfg(test)]
    fn schema(all: &mut Schema) -> String;

    /// Any value.
    #[cfg(test)]
    fn sample(random: &mut Random) -> Self;
}

/// Bytes of a value with its key and its length.
#[inline]
pub(crate) fn value_bytes<V: Value>(tag: u32, value: &V) -> usize {
    match V::WIRE {
        WireType::LengthDelimited => part_bytes(tag, value.bytes()),
        _ => key_len(tag) + value.bytes(),
    }
}

/// Bytes of a message with so many bytes of content.
#[inline]
pub(crate) fn part_bytes(tag: u32, content: usize) -> usize {
    key_len(tag) + encoded_len_varint(content as u64) + content
}

/// Appends the key and the length of a message.
#[inline]
pub(crate) fn put_head(tag: u32, content: usize, out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(content as u64, out);
}

/// Appends a value with its key and its length.
#[inline]
pub(crate) fn put_value<V: Value>(tag: u32, value: &V, out: &mut Vec<u8>) {
    match V::WIRE {
        WireType::LengthDelimited => put_head(tag, value.bytes(), out),
        wire => encode_key(tag, wire, out),
    }
    value.put(out);
}

/// Reads a value behind its key.
#[inline]
pub(crate) fn take_value<V: Value>(wire: WireType, input: &mut Reader<'_>) -> Result<V, Error> {
    if wire != V::WIRE {
        return Err(Error::malformed(format!("its wire type is {wire:?}, not {:?}", V::WIRE)));
    }
    if wire == WireType::LengthDelimited { V::take(&mut input.inner()?) } else { V::take(input) }
}

/// The content of a message behind its key.
#[inline]
pub(crate) fn take_inner<'a>(wire: WireType, input: &mut Reader<'a>) -> Result<Reader<'a>, Error> {
    if wire != WireType::LengthDelimited {
        return Err(Error::malformed(format!("its wire type is {wire:?}, not that of a message")));
    }
    input.inner()
}

/// A field of a message.
pub(crate) trait Field: Sized {
    /// The field while its message is read.
    type Partial: Default;

    /// Bytes with keys and lengths.
    fn bytes(&self, tag: u32) -> usize;

    /// Appends it, unless it has the value that an absent field has.
    fn put(&self, tag: u32, out: &mut Vec<u8>);

    /// Reads one occurrence. The last one counts, or each one of a list.
    fn take(partial: &mut Self::Partial, wire: WireType, input: &mut Reader<'_>) -> Result<(), Error>;

    /// The field at the end of its message.
    fn finish(partial: Self::Partial) -> Result<Self, Error>;

    /// Label and type in the contract.
    #[cfg(test)]
    fn schema(all: &mut Schema) -> String;

    /// Any value.
    #[cfg(test)]
    fn sample(random: &mut Random) -> Self;
}

/// A field while its message is read. Its type follows from what [`Self::finish`] is used for.
pub(crate) struct Slot<F: Field>(F::Partial);

impl<F: Field> Slot<F> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self(F::Partial::default())
    }

    #[inline]
    pub(crate) fn take(&mut self, wire: WireType, input: &mut Reader<'_>) -> Result<(), Error> {
        F::take(&mut self.0, wire, input)
    }

    #[inline]
    pub(crate) fn finish(self) -> Result<F, Error> {
        F::finish(self.0)
    }
}

/// One that is always there.
impl<V: Value> Field for V {
    type Partial = Option<V>;

    #[inline]
    fn bytes(&self, tag: u32) -> usize {
        if self.is_absent() { 0 } else { value_bytes(tag, self) }
    }

    #[inline]
    fn put(&self, tag: u32, out: &mut Vec<u8>) {
        if !self.is_absent() {
            put_value(tag, self, out);
        }
    }

    #[inline]
    fn take(partial: &mut Option<V>, wire: WireType, input: &mut Reader<'_>) -> Result<(), Error> {
        *partial = Some(take_value(wire, input)?);
        Ok(())
    }

    #[inline]
    fn finish(partial: Option<V>) -> Result<V, Error> {
        partial.or_else(V::absent).ok_or_else(|| Error::malformed("it is missing"))
    }

    #[cfg(test)]
    fn schema(all: &mut Schema) -> String {
        V::schema(all)
    }

    #[cfg(test)]
    fn sample(random: &mut Random) -> V {
        V::sample(random)
    }
}

/// One that may be missing.
impl<V: Value> Field for Option<V> {
    type Partial = Option<V>;

    #[inline]
    fn bytes(&self, tag: u32) -> usize {
        self.as_ref().map_or(0, |value| value_bytes(tag, value))
    }

    #[inline]
    fn put(&self, tag: u32, out: &mut Vec<u8>) {
        if let Some(value) = self {
            put_value(tag, value, out);
        }
    }

    #[inline]
    fn take(partial: &mut Option<V>, wire: WireType, input: &mut Reader<'_>) -> Result<(), Error> {
        *partial = Some(take_value(wire, input)?);
        Ok(())
    }

    #[inline]
    fn finish(partial: Option<V>) -> Result<Self, Error> {
        Ok(partial)
    }

    #[cfg(test)]
    fn schema(all: &mut Schema) -> String {
        format!("optional {}", V::schema(all))
    }

    #[cfg(test)]
    fn sample(random: &mut Random) -> Self {
        random.flips().then(|| V::sample(random))
    }
}

/// A field that may be missing and, where it is there, may be empty: a message around it.
macro_rules! wrapped {
    ($($inner:ty)*) => {$(
        impl<V: Value> Field for Option<$inner> {
            type Partial = Option<$inner>;

            fn bytes(&self, tag: u32) -> usize {
                self.as_ref().map_or(0, |inner| part_bytes(tag, Field::bytes(inner, 1)))
            }

            fn put(&self, tag: u32, out: &mut Vec<u8>) {
                if let Some(inner) = self {
                    put_head(tag, Field::bytes(inner, 1), out);
                    Field::put(inner, 1, out);
                }
            }

            fn take(partial: &mut Self::Partial, wire: WireType, input: &mut Reader<'_>) -> Result<(), Error> {
                let inner = &mut take_inner(wire, input)?;
                *partial = Some(take_fields!(inner, "a change", [1 value], value));
                Ok(())
            }

            fn finish(partial: Self::Partial) -> Result<Self, Error> {
                Ok(partial)
            }

            #[cfg(test)]
            fn schema(all: &mut Schema) -> String {
                let value = <$inner as Field>::schema(all);
                let name = format!("ChangeTo{}", Schema::in_names(&value));
                format!("optional {}", all.message(&name, &[(1, "value", value)]))
            }

            #[cfg(test)]
            fn sample(random: &mut Random) -> Self {
                random.flips().then(|| Field::sample(random))
            }
        }
    )*};
}

wrapped!(Option<V> Vec<V>);

/// A list. Numbers are packed.
impl<V: Value> Field for Vec<V> {
    type Partial = Vec<V>;

    fn bytes(&self, tag: u32) -> usize {
        list_bytes(self, tag)
    }

    fn put(&self, tag: u32, out: &mut Vec<u8>) {
        put_list(self, tag, out);
    }

    fn take(partial: &mut Vec<V>, wire: WireType, input: &mut Reader<'_>) -> Result<(), Error> {
        if V::WIRE == WireType::LengthDelimited || wire == V::WIRE {
            input.allow::<V>()?;
            partial.push(take_value(wire, input)?);
            return Ok(());
        }
        if wire != WireType::LengthDelimited {
            return Err(Error::malformed(format!("a list of {:?} has the wire type {wire:?}", V::WIRE)));
        }
        let mut packed = input.inner()?;
        while !packed.is_empty() {
            packed.allow::<V>()?;
            partial.push(V::take(&mut packed)?);
        }
        Ok(())
    }

    fn finish(partial: Vec<V>) -> Result<Self, Error> {
        Ok(partial)
    }

    #[cfg(test)]
    fn schema(all: &mut Schema) -> String {
        format!("repeated {}", V::schema(all))
    }

    #[cfg(test)]
    fn sample(random: &mut Random) -> Self {
        random.deeper(|random, items| (0..items).map(|_| V::sample(random)).collect())
    }
}

impl<V: Value> Field for Box<[V]> {
    type Partial = Vec<V>;

    fn bytes(&self, tag: u32) -> usize {
        list_bytes(self, tag)
    }

    fn put(&self, tag: u32, out: &mut Vec<u8>) {
        put_list(self, tag, out);
    }

    fn take(partial: &mut Vec<V>, wire: WireType, input: &mut Reader<'_>) -> Result<(), Error> {
        <Vec<V> as Field>::take(partial, wire, input)
    }

    fn finish(partial: Vec<V>) -> Result<Self, Error> {
        Ok(partial.into())
    }

    #[cfg(test)]
    fn schema(all: &mut Schema) -> String {
        <Vec<V> as Field>::schema(all)
    }

    #[cfg(test)]
    fn sample(random: &mut Random) -> Self {
        <Vec<V> as Field>::sample(random).into()
    }
}

fn list_bytes<V: Value>(list: &[V], tag: u32) -> usize {
    if V::WIRE == WireType::LengthDelimited {
        return list.iter().map(|value| value_bytes(tag, value)).sum();
    }
    if list.is_empty() { 0 } else { part_bytes(tag, list.iter().map(Value::bytes).sum()) }
}

fn put_list<V: Value>(list: &[V], tag: u32, out: &mut Vec<u8>) {
    if V::WIRE == WireType::LengthDelimited {
        list.iter().for_each(|value| put_value(tag, value, out));
    } else if !list.is_empty() {
        put_head(tag, list.iter().map(Value::bytes).sum(), out);
        list.iter().for_each(|value| value.put(out));
    }
}

macro_rules! pointer {
    ($($pointer:ident)*) => {$(
        impl<V: Value> Value for $pointer<V> {
            const WIRE: WireType = V::WIRE;

            fn absent() -> Option<Self> {
                V::absent().map($pointer::new)
            }

            fn is_absent(&self) -> bool {
                V::is_absent(self)
            }

            fn bytes(&self) -> usize {
                V::bytes(self)
            }

            fn put(&self, out: &mut Vec<u8>) {
                V::put(self, out);
            }

            fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
                input.allow::<V>()?;
                V::take(input).map($pointer::new)
            }

            #[cfg(test)]
            fn schema(all: &mut Schema) -> String {
                V::schema(all)
            }

            #[cfg(test)]
            fn sample(random: &mut Random) -> Self {
                $pointer::new(V::sample(random))
            }
        }
    )*};
}

pointer!(Box Arc);

macro_rules! tuple {
    ($(($($tag:literal $field:ident $type:ident),*))*) => {$(
        impl<$($type: Field),*> Value for ($($type),*) {
            const WIRE: WireType = WireType::LengthDelimited;

            fn bytes(&self) -> usize {
                let ($($field),*) = self;
                0 $(+ Field::bytes($field, $tag))*
            }

            fn put(&self, out: &mut Vec<u8>) {
                let ($($field),*) = self;
                $(Field::put($field, $tag, out);)*
            }

            fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
                take_fields!(input, "a pair", [$($tag $field),*], Ok(($($field),*)))
            }

            #[cfg(test)]
            fn schema(all: &mut Schema) -> String {
                let fields = [$(($tag, stringify!($field), $type::schema(all))),*];
                let names: Vec<_> = fields.iter().map(|(_, _, kind)| Schema::in_names(kind)).collect();
                all.message(&names.join("And"), &fields)
            }

            #[cfg(test)]
            fn sample(random: &mut Random) -> Self {
                ($($type::sample(random)),*)
            }
        }
    )*};
}

tuple! {
    (1 first A, 2 second B)
    (1 first A, 2 second B, 3 third C)
}

macro_rules! number {
    ($($type:ident = $contract:literal)*) => {$(
        impl Value for $type {
            const WIRE: WireType = WireType::Varint;

            fn absent() -> Option<Self> {
                Some(0)
            }

            #[inline]
            fn is_absent(&self) -> bool {
                *self == 0
            }

            #[inline]
            fn bytes(&self) -> usize {
                encoded_len_varint(*self as u64)
            }

            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                encode_varint(*self as u64, out);
            }

            #[inline]
            fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
                let number = input.varint()?;
                $type::try_from(number)
                    .map_err(|_| Error::malformed(format!("{number} is above {}", $type::MAX)))
            }

            #[cfg(test)]
            fn schema(_: &mut Schema) -> String {
                $contract.into()
            }

            #[cfg(test)]
            fn sample(random: &mut Random) -> Self {
                random.number() as $type
            }
        }
    )*};
}

number! { u8 = "uint32" u16 = "uint32" u32 = "uint32" u64 = "uint64" usize = "uint64" }

/// A number with a sign, as Protocol Buffers' `sint64`: numbers near zero are short.
macro_rules! signed {
    ($($type:ident = $contract:literal)*) => {$(
        impl Value for $type {
            const WIRE: WireType = WireType::Varint;

            fn absent() -> Option<Self> {
                Some(0)
            }

            fn is_absent(&self) -> bool {
                *self == 0
            }

            fn bytes(&self) -> usize {
                encoded_len_varint(zigzag(i64::from(*self)))
            }

            fn put(&self, out: &mut Vec<u8>) {
                encode_varint(zigzag(i64::from(*self)), out);
            }

            fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
                let raw = input.varint()?;
                let number = (raw >> 1) as i64 ^ -((raw & 1) as i64);
                $type::try_from(number)
                    .map_err(|_| Error::malformed(format!("{number} is out of bounds")))
            }

            #[cfg(test)]
            fn schema(_: &mut Schema) -> String {
                $contract.into()
            }

            #[cfg(test)]
            fn sample(random: &mut Random) -> Self {
                random.number() as $type
            }
        }
    )*};
}

signed! { i32 = "sint32" i64 = "sint64" }

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

impl Value for bool {
    const WIRE: WireType = WireType::Varint;

    fn absent() -> Option<Self> {
        Some(false)
    }

    fn is_absent(&self) -> bool {
        !self
    }

    fn bytes(&self) -> usize {
        1
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(input.varint()? != 0)
    }

    #[cfg(test)]
    fn schema(_: &mut Schema) -> String {
        "bool".into()
    }

    #[cfg(test)]
    fn sample(random: &mut Random) -> Self {
        random.flips()
    }
}

/// Numbers of a fixed length. Negative zero is not the zero of an absent field.
macro_rules! fixed {
    ($($type:ident $wire:ident $contract:literal $absent:expr, $is_absent:expr, $sample:expr;)*) => {$(
        impl Value for $type {
            const WIRE: WireType = WireType::$wire;

            fn absent() -> Option<Self> {
                Some($absent)
            }

            fn is_absent(&self) -> bool {
                $is_absent(self)
            }

            fn bytes(&self) -> usize {
                size_of::<Self>()
            }

            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
                let number = Self::from_le_bytes(input.fixed()?);
                // Wide integers have a length in front, which must be theirs.
                if Self::WIRE == WireType::LengthDelimited && !input.is_empty() {
                    return Err(Error::malformed(format!("it has not {} bytes", size_of::<Self>())));
                }
                Ok(number)
            }

            #[cfg(test)]
            fn schema(_: &mut Schema) -> String {
                $contract.into()
            }

            #[cfg(test)]
            fn sample(random: &mut Random) -> Self {
                $sample(random)
            }
        }
    )*};
}

fixed! {
    f32 ThirtyTwoBit "float" 0.0, |number: &f32| number.to_bits() == 0,
        |random: &mut Random| random.number() as f32 / 8.0;
    f64 SixtyFourBit "double" 0.0, |number: &f64| number.to_bits() == 0,
        |random: &mut Random| random.number() as i64 as f64 / 8.0;
    u128 LengthDelimited "bytes" 0, |number: &u128| *number == 0,
        |random: &mut Random| u128::from(random.number()) << 64 | u128::from(random.number());
    i128 LengthDelimited "bytes" 0, |number: &i128| *number == 0,
        |random: &mut Random| i128::from(random.number() as i64) << 60;
}

impl<const BYTES: usize> Value for [u8; BYTES] {
    const WIRE: WireType = WireType::LengthDelimited;

    fn bytes(&self) -> usize {
        BYTES
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
        let wrong = |_| Error::malformed(format!("it has not {BYTES} bytes"));
        input.take_all().try_into().map_err(wrong)
    }

    #[cfg(test)]
    fn schema(_: &mut Schema) -> String {
        "bytes".into()
    }

    #[cfg(test)]
    fn sample(random: &mut Random) -> Self {
        std::array::from_fn(|_| random.byte())
    }
}

/// Texts and bytes, which are empty where they are absent.
macro_rules! delimited {
    ($($type:ident $contract:literal $take:expr, $sample:expr;)*) => {$(
        impl Value for $type {
            const WIRE: WireType = WireType::LengthDelimited;

            fn absent() -> Option<Self> {
                Some($type::default())
            }

            #[inline]
            fn is_absent(&self) -> bool {
                $type::is_empty(self)
            }

            #[inline]
            fn bytes(&self) -> usize {
                $type::len(self)
            }

            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(self.as_ref());
            }

            #[inline]
            fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
                $take(input)
            }

            #[cfg(test)]
            fn schema(_: &mut Schema) -> String {
                $contract.into()
            }

            #[cfg(test)]
            fn sample(random: &mut Random) -> Self {
                $sample(random)
            }
        }
    )*};
}

/// The text that the rest of the reader is.
#[inline]
pub(crate) fn take_text<'a>(input: &mut Reader<'a>) -> Result<&'a str, Error> {
    std::str::from_utf8(input.take_all()).map_err(|_| Error::malformed("it is not UTF-8"))
}

delimited! {
    String "string" |input: &mut Reader<'_>| take_text(input).map(Into::into), Random::text;
    CompactString "string" |input: &mut Reader<'_>| take_text(input).map(Into::into),
        |random: &mut Random| random.text().into();
    Bytes "bytes" |input: &mut Reader<'_>| Ok(input.take_bytes()),
        |random: &mut Random| random.text().into();
}

newtype!(Time(u64));

text! {
    PrincipalId = PrincipalId::new, ["k_0011223344556677", "anna@example.org"];
}
