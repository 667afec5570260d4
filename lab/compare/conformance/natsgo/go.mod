module paddock/lab/compare/conformance/natsgo

go 1.26.0

// The tests of nats.go get their servers from packages of this module. Ours has
// packages of the same names that start the program under test: see README.md.
replace github.com/synadia-io/orbit.go => ./orbit

require (
	github.com/nats-io/nats.go v1.55.0
	github.com/synadia-io/orbit.go v0.0.0
)

require (
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/klauspost/compress v1.20.0 // indirect
	github.com/nats-io/jwt/v2 v2.8.2 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
