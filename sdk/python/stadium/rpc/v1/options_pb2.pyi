from google.protobuf import descriptor

DESCRIPTOR: descriptor.FileDescriptor
ONE_WAY_FIELD_NUMBER: int
one_way: descriptor.FieldDescriptor
