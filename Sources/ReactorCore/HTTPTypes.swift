// `HTTPFields`, `HTTPRequest` and their like are part of this module's interface: who imports it has them.
@_exported public import HTTPTypes
