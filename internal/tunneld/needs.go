package tunneld

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"reflect"
	"strings"

	"paddock/internal/netio/listen"
	"paddock/internal/process/config"
	"paddock/internal/process/keyid"
)

// DefaultBudget is the memory that a server may take unless the file sets it.
const DefaultBudget = 256 << 20

// BudgetFor returns the bytes of memory that a server wants for so many clients, 64 KiB for each:
// the size of an idle one, and as much again for garbage that is not collected yet.
func BudgetFor(clients int) int64 { return int64(clients) * 64 << 10 }

// Serves reports whether settings are those of a server.
func (s *Settings) Serves() bool {
	return len(s.Clients) > 0 || !reflect.ValueOf(s.Serve).IsZero()
}

// Faults returns the faults that settings have on this machine: files that are missing or of
// another kind, and settings that would admit strangers.
func (s *Settings) Faults() (faults []error) {
	found := func(key string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", key, err))
		}
	}
	if v := &s.Serve; s.Serves() {
		if v.Listen != "" {
			found("serve", s.exposed())
		}
		if v.Admin != "" {
			found("serve.admin", listen.Check(v.Admin, v.Token != ""))
		}
		if v.Cert != "" {
			_, err := tls.LoadX509KeyPair(v.Cert, v.Key)
			found("serve.tls_crt and tls_key", err)
		}
	}
	v := &s.Connect
	if v.Admin != "" {
		found("connect.admin", listen.Check(v.Admin, v.Token != ""))
	}
	if v.TokenFile != "" {
		_, _, err := readToken(v.TokenFile)
		found("connect.token_file", err)
	} else if v.Cert != "" {
		_, err := keyid.LoadPair(v.Cert, v.Key)
		found("the client's certificate and key", err)
	}
	if v.RootCA != "" && !v.Pinned {
		_, err := bySignature("", v.RootCA)
		found("connect.root_ca", err)
	}
	return faults
}

// Needs compares the limits of a server with the files that this process may open, and returns a
// line for each. The warnings are about limits that do not fit.
func (s *Settings) Needs(open int) (lines, warnings []string) {
	share := share(s.Serve.Limits, len(s.Clients), open)
	may := "how many may be open is not known"
	if open > 0 {
		may = fmt.Sprintf("%d may be open here", open)
	}
	lines = append(lines, fmt.Sprintf("files: the limits want %d, %s: visitors %d, raw_visitors %d, direct %d with %d each, connections of clients %d, the server's own %d",
		share.wanted(), may, share.visitors.got, share.raw.got, share.direct.got, filesDirect, share.link, share.own))
	if cuts := share.cuts(); len(cuts) > 0 {
		warnings = append(warnings, fmt.Sprintf("bounds will be lower than usual: %s; for all of it raise the server's limit of open files to %d (ulimit -n, or LimitNOFILE of systemd)",
			strings.Join(cuts, ", "), share.wanted()))
	}
	if !share.fits() {
		warnings = append(warnings, fmt.Sprintf("too few files are left to clients, %d of %d, and %d clients are listed: lower the limits of visitors, or raise the server's limit of open files",
			share.link, open, share.clients))
	}
	budget := cmp.Or(s.Serve.Budget, DefaultBudget)
	wanted := BudgetFor(len(s.Clients))
	lines = append(lines, fmt.Sprintf("memory: the budget is %v, of which the clients that are listed, %d, want %v", config.Size(budget), len(s.Clients), config.Size(wanted)))
	if wanted > budget {
		warnings = append(warnings, fmt.Sprintf("the budget is small for so many clients: once all are there, memory is collected all the time; set budget to %v or more", config.Size(wanted)))
	}
	return lines, warnings
}
