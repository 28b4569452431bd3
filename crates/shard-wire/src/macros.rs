//! The tables from which types are written and read: a line for each field, with its number.
//!
//! Each table names all fields and all cases of its type, so that one that is added does not
//! compile before it has a number. Numbers stay for ever: docs/formats/shard-wire.md.

/// Reads the fields of a message, and makes something of them. Unknown fields are passed over.
macro_rules! take_fields {
    ($input:ident, $name:expr, [$($tag:literal $field:ident),* $(,)?], $make:expr) => {{
        $(let mut $field = $crate::value::Slot::new();)*
        while let Some((tag, wire)) = $input.key()? {
            match tag {
                $($tag => {
                    $field.take(wire, $input).map_err(|error| error.at($name, stringify!($field)))?
                })*
                _ => $input.skip(tag, wire)?,
            }
        }
        $(let $field = $field.finish().map_err(|error| error.at($name, stringify!($field)))?;)*
        $make
    }};
}

/// A struct: `TYPE = "NAME IN THE CONTRACT" { NUMBER FIELD, .. }`.
macro_rules! message {
    ($($type:ty = $name:literal { $($tag:literal $field:ident),* $(,)? })*) => {$(
        impl $crate::value::Value for $type {
            const WIRE: prost::encoding::WireType = prost::encoding::WireType::LengthDelimited;

            fn bytes(&self) -> usize {
                let Self { $($field),* } = self;
                0 $(+ $crate::value::Field::bytes($field, $tag))*
            }

            fn put(&self, out: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($crate::value::Field::put($field, $tag, out);)*
            }

            fn take(input: &mut $crate::reader::Reader<'_>) -> Result<Self, $crate::Error> {
                take_fields!(input, $name, [$($tag $field),*], Ok(Self { $($field),* }))
            }

            #[cfg(test)]
            fn schema(all: &mut $crate::tests::Schema) -> String {
                all.define::<Self>($name, |all| {
                    let fields = field_types!(
                        all, [$($tag $field),*], Self { $($field: $field.value()),* }
                    );
                    all.message($name, &fields);
                })
            }

            #[cfg(test)]
            fn sample(random: &mut $crate::tests::Random) -> Self {
                Self { $($field: $crate::value::Field::sample(random)),* }
            }
        }
    )*};
}

/// Number, name and type of each field, for the contract. The types follow from `$make`, which is
/// not called.
#[cfg(test)]
macro_rules! field_types {
    ($all:ident, [$($tag:literal $field:ident),*], $make:expr) => {{
        $(let $field = $crate::tests::Probe::new();)*
        let _ = || -> Self { $make };
        let fields: Vec<(u32, &str, String)> = vec![$(($tag, stringify!($field), $field.schema($all))),*];
        fields
    }};
}

/// An enum whose cases have fields: `TYPE = "NAME" { NUMBER CASE FIELDS, .. }`. The fields of a case
/// are a message: `{ NUMBER FIELD, .. }`, `( NUMBER FIELD, .. )` for a case without names, or none.
/// `[FIELD]` is the one value of a case, without a message around it.
macro_rules! oneof {
    ($($type:ty = $name:literal $(where $check:path)? { $(
        $number:literal $case:ident
        $({ $($tag:literal $field:ident),* $(,)? })?
        $(( $($place:literal $part:ident),* $(,)? ))?
        $([ $value:ident ])?
    ),* $(,)? })*) => {$(
        impl $crate::value::Value for $type {
            const WIRE: prost::encoding::WireType = prost::encoding::WireType::LengthDelimited;

            fn bytes(&self) -> usize {
                match self {$(
                    Self::$case $({ $($field),* })? $(( $($part),* ))? $(( $value ))? => {
                        case!(bytes $number; $({ $($tag $field),* })? $({ $($place $part),* })? $([ $value ])?)
                    }
                )*}
            }

            fn put(&self, out: &mut Vec<u8>) {
                match self {$(
                    Self::$case $({ $($field),* })? $(( $($part),* ))? $(( $value ))? => {
                        case!(put $number, out; $({ $($tag $field),* })? $({ $($place $part),* })? $([ $value ])?)
                    }
                )*}
            }

            fn take(input: &mut $crate::reader::Reader<'_>) -> Result<Self, $crate::Error> {
                let mut found = None;
                let mut newer = None;
                while let Some((tag, wire)) = input.key()? {
                    match tag {
                        $($number => {
                            let case: Self = case!(
                                take input, wire, concat!($name, " ", stringify!($case));
                                $({ $($tag $field),* } Self::$case { $($field),* })?
                                $({ $($place $part),* } Self::$case($($part),*))?
                                $([ $value ] Self::$case($value))?
                                ; Self::$case {}
                            );
                            found = Some(case);
                        })*
                        _ => {
                            newer = Some($crate::Error::newer(tag.into()));
                            input.skip(tag, wire)?;
                        }
                    }
                }
                $(found.as_ref().map_or(Ok(()), $check).map_err(|error| error.at($name, "value"))?;)?
                let none = || $crate::Error::malformed("it has none of its cases");
                found.ok_or_else(|| newer.unwrap_or_else(none).at($name, "case"))
            }

            #[cfg(test)]
            fn schema(all: &mut $crate::tests::Schema) -> String {
                all.define::<Self>($name, |all| {
                    let mut cases = Vec::new();
                    $({
                        let kind = case!(
                            schema all, concat!($name, stringify!($case));
                            $({ $($tag $field),* } Self::$case { $($field: $field.value()),* })?
                            $({ $($place $part),* } Self::$case($($part.value()),*))?
                            $([ $value ] Self::$case($value.value()))?
                        );
                        cases.push(($number, stringify!($case), kind));
                    })*
                    all.oneof($name, &cases);
                })
            }

            #[cfg(test)]
            fn sample(random: &mut $crate::tests::Random) -> Self {
                let cases = <Self as $crate::tests::Cases>::CASES;
                random.case(cases.len(), |random, case| cases[case].1(random))
            }
        }

        #[cfg(test)]
        impl $crate::tests::Cases for $type {
            const CASES: &'static [$crate::tests::Case<Self>] = &[$(
                (stringify!($case), |_random| {
                    Self::$case
                        $({ $($field: $crate::value::Field::sample(_random)),* })?
                        $(( $({ let $part = $crate::value::Field::sample(_random); $part }),* ))?
                        $(({ let $value = $crate::value::Value::sample(_random); $value }))?
                }),
            )*];
        }
    )*};
}

/// One case of [`oneof`].
macro_rules! case {
    (bytes $number:literal;) => {
        $crate::value::part_bytes($number, 0)
    };
    (bytes $number:literal; { $($tag:literal $field:ident),* }) => {
        $crate::value::part_bytes($number, 0 $(+ $crate::value::Field::bytes($field, $tag))*)
    };
    (bytes $number:literal; [ $value:ident ]) => {
        $crate::value::value_bytes($number, $value)
    };
    (put $number:literal, $out:ident;) => {
        $crate::value::put_head($number, 0, $out)
    };
    (put $number:literal, $out:ident; { $($tag:literal $field:ident),* }) => {{
        let content = 0 $(+ $crate::value::Field::bytes($field, $tag))*;
        $crate::value::put_head($number, content, $out);
        $($crate::value::Field::put($field, $tag, $out);)*
    }};
    (put $number:literal, $out:ident; [ $value:ident ]) => {
        $crate::value::put_value($number, $value, $out)
    };
    (take $input:ident, $wire:ident, $name:expr; ; $unit:expr) => {{
        let inner = &mut $crate::value::take_inner($wire, $input)?;
        take_fields!(inner, $name, [], $unit)
    }};
    (take $input:ident, $wire:ident, $name:expr;
        { $($tag:literal $field:ident),* } $make:expr ; $unit:expr) => {{
        let inner = &mut $crate::value::take_inner($wire, $input)?;
        take_fields!(inner, $name, [$($tag $field),*], $make)
    }};
    (take $input:ident, $wire:ident, $name:expr; [ $value:ident ] $make:expr ; $unit:expr) => {{
        let $value = $crate::value::take_value($wire, $input).map_err(|error| error.at($name, "value"))?;
        $make
    }};
    (schema $all:ident, $name:expr;) => {
        $all.empty($name)
    };
    (schema $all:ident, $name:expr; { $($tag:literal $field:ident),* } $make:expr) => {{
        let fields = field_types!($all, [$($tag $field),*], $make);
        $all.message($name, &fields)
    }};
    (schema $all:ident, $name:expr; [ $value:ident ] $make:expr) => {{
        let fields = field_types!($all, [1 $value], $make);
        fields[0].2.clone()
    }};
}

/// An enum whose cases have no fields: `TYPE = "NAME" { NUMBER CASE, .. }`. No case is 0, so that
/// one that is missing is noticed.
macro_rules! enumeration {
    ($($type:ty = $name:literal { $($number:literal $case:ident),* $(,)? })*) => {$(
        impl $crate::value::Value for $type {
            const WIRE: prost::encoding::WireType = prost::encoding::WireType::Varint;

            fn bytes(&self) -> usize {
                1
            }

            fn put(&self, out: &mut Vec<u8>) {
                // One byte is a number below 128.
                out.push(match self { $(Self::$case => const { assert!($number < 128); $number },)* });
            }

            fn take(input: &mut $crate::reader::Reader<'_>) -> Result<Self, $crate::Error> {
                match input.varint()? {
                    $($number => Ok(Self::$case),)*
                    0 => Err($crate::Error::malformed("it is none of its cases").at($name, "case")),
                    number => Err($crate::Error::newer(number).at($name, "case")),
                }
            }

            #[cfg(test)]
            fn schema(all: &mut $crate::tests::Schema) -> String {
                all.define::<Self>($name, |all| all.enumeration($name, &[$(($number, stringify!($case))),*]))
            }

            #[cfg(test)]
            fn sample(random: &mut $crate::tests::Random) -> Self {
                const CASES: &[$type] = &[$(<$type>::$case),*];
                CASES[usize::from(random.byte()) % CASES.len()]
            }
        }
    )*};
}

/// A struct around one value, which is written as that value.
macro_rules! newtype {
    ($($type:ident($inner:ty))*) => {$(
        impl $crate::value::Value for $type {
            const WIRE: prost::encoding::WireType = <$inner as $crate::value::Value>::WIRE;

            fn absent() -> Option<Self> {
                <$inner as $crate::value::Value>::absent().map($type)
            }

            #[inline]
            fn is_absent(&self) -> bool {
                self.0.is_absent()
            }

            #[inline]
            fn bytes(&self) -> usize {
                $crate::value::Value::bytes(&self.0)
            }

            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                $crate::value::Value::put(&self.0, out);
            }

            #[inline]
            fn take(input: &mut $crate::reader::Reader<'_>) -> Result<Self, $crate::Error> {
                <$inner as $crate::value::Value>::take(input).map($type)
            }

            #[cfg(test)]
            fn schema(all: &mut $crate::tests::Schema) -> String {
                <$inner as $crate::value::Value>::schema(all)
            }

            #[cfg(test)]
            fn sample(random: &mut $crate::tests::Random) -> Self {
                $type($crate::value::Value::sample(random))
            }
        }
    )*};
}

/// A text that its type checks: `TYPE = MAKE, ["SAMPLE", ..]`. It is never empty.
macro_rules! text {
    ($($type:ident = $make:path, [$($sample:literal),*];)*) => {$(
        impl $crate::value::Value for $type {
            const WIRE: prost::encoding::WireType = prost::encoding::WireType::LengthDelimited;

            #[inline]
            fn bytes(&self) -> usize {
                self.as_str().len()
            }

            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(self.as_str().as_bytes());
            }

            #[inline]
            fn take(input: &mut $crate::reader::Reader<'_>) -> Result<Self, $crate::Error> {
                let text = $crate::value::take_text(input)?;
                $make(text).map_err(|error| $crate::Error::malformed(error.to_string()))
            }

            #[cfg(test)]
            fn schema(_: &mut $crate::tests::Schema) -> String {
                "string".into()
            }

            #[cfg(test)]
            fn sample(random: &mut $crate::tests::Random) -> Self {
                const SAMPLES: &[&str] = &[$($sample),*];
                $make(SAMPLES[usize::from(random.byte()) % SAMPLES.len()]).expect("a name")
            }
        }
    )*};
}

/// A type with private fields, which is written as another one: `TYPE => PARTS, TO, FROM, SAMPLE`.
macro_rules! through {
    ($($type:ty => $parts:ty, $to:expr, $from:expr, $sample:expr;)*) => {$(
        impl $crate::value::Value for $type {
            const WIRE: prost::encoding::WireType = <$parts as $crate::value::Value>::WIRE;

            fn bytes(&self) -> usize {
                $crate::value::Value::bytes(&$to(self))
            }

            fn put(&self, out: &mut Vec<u8>) {
                $crate::value::Value::put(&$to(self), out);
            }

            fn take(input: &mut $crate::reader::Reader<'_>) -> Result<Self, $crate::Error> {
                let parts: $parts = $crate::value::Value::take(input)?;
                let made: Result<Self, &'static str> = $from(parts);
                made.map_err($crate::Error::malformed)
            }

            #[cfg(test)]
            fn schema(all: &mut $crate::tests::Schema) -> String {
                <$parts as $crate::value::Value>::schema(all)
            }

            #[cfg(test)]
            fn sample(random: &mut $crate::tests::Random) -> Self {
                $sample(random)
            }
        }
    )*};
}
