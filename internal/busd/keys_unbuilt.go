package busd

import (
	"fmt"
	"slices"
	"strings"

	"paddock/internal/busd/natsconf"
)

// Keys of a NATS server that this one does not have, by what becomes of a file that
// holds them. A key that is in none of these lists nor in a table is a mistake.
var (
	// harmlessKeys tune features that are not tuned here, or add features that are not missed.
	harmlessKeys = []string{
		"disable_sublist_cache", "no_sublist_cache", "no_fast_producer_stall", "max_traced_msg_len", "write_timeout",
		"connect_error_reports", "reconnect_error_reports", "prof_block_rate", "server_metadata", "feature_flags",
		"no_system_account", "no_system", "no_sys_acc", "default_js_domain",
	}
	// missingKeys are features that clients may miss: the file is taken, with a warning.
	missingKeys = []string{"mqtt", "resolver_tls"}
	// promisedKeys say where messages are kept or taken to. Without them messages are lost, or
	// seen by others, in silence: the file is refused unless the key is to be ignored.
	promisedKeys = []string{
		"jetstream", "store_dir", "storedir", "cluster", "gateway", "leafnodes", "leaf", "mappings", "maps",
	}
	// refusedKeys decide permissions: ignoring one would admit a client that the file keeps out.
	refusedKeys = []string{
		"operator", "operators", "root", "roots", "root_operator", "root_operators", "trusted", "trusted_keys",
		"resolver", "account_resolver", "accounts_resolver", "resolver_preload", "resolver_pinned_accounts",
		"default_sentinel", "ocsp", "ocsp_cache", "proxies", "proxy_protocol",
	}
)

// off tells an entry that switches a feature off.
func off(n *natsconf.Node) bool { return n.Kind == natsconf.Bool && !n.Bool }

func (d *decoder) missing(f *natsconf.Field) {
	if !off(f.Value) {
		d.warn(f.Pos, "%s is ignored: there is no such feature here", strings.ToLower(f.Key))
	}
}

// promised refuses a key unless it is to be ignored.
func (d *decoder) promised(f *natsconf.Field) {
	key := strings.ToLower(f.Key)
	if key == "jetstream" && jetStreamOff(f.Value) {
		return
	}
	if off(f.Value) || slices.Contains(d.ignore, key) {
		d.missing(f)
		return
	}
	way := fmt.Sprintf("; --ignore %s takes the file all the same", key)
	if d.section {
		way = ""
	}
	d.fail(f.Pos, "%s is not supported, and without it messages would be lost or go elsewhere%s", key, way)
}

// jetStreamOff tells the further ways to switch JetStream off: a word, or an entry of its map.
func jetStreamOff(n *natsconf.Node) bool {
	word := strings.ToLower(n.Text)
	return word == "disabled" || word == "disable" || slices.ContainsFunc(n.Fields, func(f *natsconf.Field) bool {
		key := strings.ToLower(f.Key)
		return (key == "enabled" || key == "enable") && off(f.Value)
	})
}

func (d *decoder) refused(f *natsconf.Field) {
	if !off(f.Value) {
		d.fail(f.Pos, "%s is not supported, and to ignore it would weaken security", strings.ToLower(f.Key))
	}
}
