package bus

// ProtocolVersion is what INFO gives as the server's version: the release of the
// reference server whose protocol this is. Clients switch features on by it.
const ProtocolVersion = protocolVersion
