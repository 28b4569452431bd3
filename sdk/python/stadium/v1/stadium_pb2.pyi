from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import Any as _Any, ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Devices(_message.Message):
    __slots__ = ["ids"]
    IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ids: _Optional[_Iterable[str]] = ...) -> None: ...

class PushAccepted(_message.Message):
    __slots__ = ["id"]
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class PushRequest(_message.Message):
    __slots__ = ["at_most_once", "channel", "content_type", "device", "devices", "everybody", "expiry_s", "message", "user_properties"]
    AT_MOST_ONCE_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    EVERYBODY_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_S_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    USER_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    at_most_once: bool
    channel: str
    content_type: str
    device: str
    devices: Devices
    everybody: bool
    expiry_s: int
    message: bytes
    user_properties: _containers.RepeatedCompositeFieldContainer[UserProperty]
    def __init__(self, device: _Optional[str] = ..., devices: _Optional[_Union[Devices, _Mapping[str, _Any]]] = ..., channel: _Optional[str] = ..., everybody: _Optional[bool] = ..., message: _Optional[bytes] = ..., expiry_s: _Optional[int] = ..., content_type: _Optional[str] = ..., user_properties: _Optional[_Iterable[_Union[UserProperty, _Mapping[str, _Any]]]] = ..., at_most_once: _Optional[bool] = ...) -> None: ...

class UserProperty(_message.Message):
    __slots__ = ["name", "value"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
