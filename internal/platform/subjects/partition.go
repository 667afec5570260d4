package subjects

// Partitions is the number of partitions. It is part of the format of everything that is stored by
// partition, so it does not change.
const Partitions = 64

// Partition returns the partition of an object, below Partitions: FNV-1a with 32 bits over the
// tokens of its fleet and of its id, without a separator, modulo Partitions. A NATS server computes
// the same as partition(64,1,2) in a subject mapping of *.*.
func Partition(fleet, id string) int {
	return int(hashToken(hashToken(fnvOffset, fleet), id) % Partitions)
}

// The constants of FNV-1a with 32 bits (RFC 9923).
const (
	fnvOffset = 2166136261
	fnvPrime  = 16777619
)

// hashToken continues a hash with the token of an id, as AppendToken writes it.
func hashToken(h uint32, id string) uint32 {
	if id == "" {
		return hashByte(h, NoToken[0])
	}
	for i := range len(id) {
		if c := id[i]; isTokenByte(c) && id != NoToken {
			h = hashByte(h, c)
		} else {
			h = hashByte(hashByte(hashByte(h, '%'), upperHex[c>>4]), upperHex[c&15])
		}
	}
	return h
}

func hashByte(h uint32, c byte) uint32 { return (h ^ uint32(c)) * fnvPrime }
