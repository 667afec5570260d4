package perf

// The kinds that the perf server serves.
const (
	KindPost     = "perf.post"     // POST: nothing is done with it
	KindRequest  = "perf.request"  // REQUEST: the answer is the body
	KindStreamTx = "perf.streamtx" // STREAM: counts messages until END, answers with the count, u64
	kindStreamRx = "perf.streamrx" // STREAM: the client sends a streamOrder, and the server sends the messages
	kindReport   = "perf.report"   // REQUEST: the answer is a serverReport, as JSON
	kindFloor    = "perf.floor"    // REQUEST: the answer is a floorPlace, as JSON

	// Their bodies are checked, see bodyID.
	kindVerifyPost    = "perf.verify.post"    // POST
	kindVerifyAcked   = "perf.verify.acked"   // POST, meant to be acknowledged
	kindVerifyRequest = "perf.verify.request" // REQUEST: the answer is toAnswer of the body
	kindVerifyStream  = "perf.verify.stream"  // STREAM: an answer to each message
	kindVerifyReport  = "perf.verify.report"  // REQUEST: laneQuery, the answer is a laneReport, as JSON
)

// Names of counters in the flat map of a connection.
const (
	statPosts    = "n_rxpost"
	statBytes    = "n_txbyte"
	statWrites   = "n_flushes"
	statUnserved = "n_mdrops"
)

// serverReport is the answer of perf.report: about the server's process, and about the connection
// that asks.
type serverReport struct {
	Instance string           `json:"instance"` // another one after each start
	Usage    Usage            `json:"usage"`
	Stats    map[string]int64 `json:"stats"`
	Corrupt  [classes]int64   `json:"corrupt"` // wrong bodies of the verifying kinds, of all clients
}

// sumStats adds counters by name.
func sumStats(all []map[string]int64) map[string]int64 {
	sum := map[string]int64{}
	for _, one := range all {
		for name, n := range one {
			sum[name] += n
		}
	}
	return sum
}
