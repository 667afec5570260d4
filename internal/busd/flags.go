package busd

import (
	"errors"
	"flag"
	"io"
	"strconv"
)

// commandLine is what the flags of the other program name say.
type commandLine struct {
	file      string
	check     bool   // of the configuration file only
	signal    string // to send, "" = none
	version   bool
	help      bool
	helpTLS   bool
	overrides []Override
	words     []string // behind the flags
}

// errNumber is how package flag words it.
var errNumber = errors.New("parse error")

// parseFlags reads args by the rules of package flag: one dash or two, -x=v or -x v.
// Its error has been reported to w.
func parseFlags(args []string, w io.Writer) (*commandLine, error) {
	c := new(commandLine)
	fs := flag.NewFlagSet(ProgramName, flag.ContinueOnError)
	fs.SetOutput(w)
	fs.Usage = func() { io.WriteString(w, usage) }
	c.serverFlags(fs)
	c.logFlags(fs)
	c.accessFlags(fs)
	c.idleFlags(fs)
	if err := fs.Parse(args); err != nil && !errors.Is(err, flag.ErrHelp) {
		return nil, err
	} else if err != nil {
		c.help = true
	}
	c.words = fs.Args()
	return c, nil
}

// define defines a flag of the settings under all its names, by fs.Func or fs.BoolFunc.
func define[T any](c *commandLine, by func(name, usage string, fn func(string) error), parse func(string) (T, error), set func(*Settings, T), names []string) {
	for _, name := range names {
		by(name, "", func(text string) error {
			v, err := parse(text)
			if err != nil {
				return errNumber
			}
			c.overrides = append(c.overrides, func(s *Settings) { set(s, v) })
			return nil
		})
	}
}

func (c *commandLine) text(fs *flag.FlagSet, set func(s *Settings, v string), names ...string) {
	define(c, fs.Func, func(text string) (string, error) { return text, nil }, set, names)
}

func (c *commandLine) number(fs *flag.FlagSet, set func(s *Settings, n int), names ...string) {
	define(c, fs.Func, func(text string) (int, error) {
		n, err := strconv.ParseInt(text, 0, strconv.IntSize)
		return int(n), err
	}, set, names)
}

func (c *commandLine) boolean(fs *flag.FlagSet, set func(s *Settings, on bool), names ...string) {
	define(c, fs.BoolFunc, strconv.ParseBool, set, names)
}

// aliases defines a flag that is no setting under all its names.
func aliases[T any](define func(p *T, name string, value T, usage string), p *T, names ...string) {
	for _, name := range names {
		define(p, name, *p, "")
	}
}

func (c *commandLine) serverFlags(fs *flag.FlagSet) {
	c.text(fs, func(s *Settings, v string) { s.Bus.Host = v }, "a", "addr", "net")
	c.number(fs, func(s *Settings, n int) { s.Bus.Port = n }, "p", "port")
	c.text(fs, func(s *Settings, v string) { s.Bus.ServerName = v }, "n", "name", "server_name")
	c.text(fs, func(s *Settings, v string) { s.PidFile = v }, "P", "pid")
	c.number(fs, func(s *Settings, n int) { s.HTTP.Port = n }, "m", "http_port")
	c.number(fs, func(s *Settings, n int) { s.HTTP.TLSPort = n }, "ms", "https_port")
	c.text(fs, func(s *Settings, v string) { s.Bus.Advertise = v }, "client_advertise")
	c.text(fs, func(s *Settings, v string) { s.PortsDir = v }, "ports_file_dir")
	c.number(fs, func(s *Settings, n int) { s.Profile = n }, "profile")
	aliases(fs.StringVar, &c.file, "c", "config")
	aliases(fs.BoolVar, &c.check, "t")
	aliases(fs.StringVar, &c.signal, "sl", "signal")
	aliases(fs.BoolVar, &c.version, "v", "version")
	aliases(fs.BoolVar, &c.help, "h", "help")
	aliases(fs.BoolVar, &c.helpTLS, "help_tls")
}

func (c *commandLine) logFlags(fs *flag.FlagSet) {
	c.text(fs, func(s *Settings, v string) { s.Log.File = v }, "l", "log")
	c.boolean(fs, func(s *Settings, on bool) { s.Log.NoTime = !on }, "T", "logtime")
	c.boolean(fs, func(s *Settings, on bool) { s.Log.UTC = on }, "logtime_utc")
	c.boolean(fs, func(s *Settings, on bool) { s.Log.Syslog = on }, "s", "syslog")
	c.text(fs, func(s *Settings, v string) { s.Log.Remote = v }, "r", "remote_syslog")
	c.boolean(fs, func(s *Settings, on bool) { s.Log.Debug = on }, "D", "debug")
	c.boolean(fs, func(s *Settings, on bool) { s.Log.Trace = on }, "V", "trace", "VV")
	c.boolean(fs, func(s *Settings, on bool) { s.Log.Debug, s.Log.Trace = on, on }, "DV", "DVV")
	c.number(fs, func(s *Settings, n int) { s.Log.MaxBytes = int64(max(n, 0)) }, "log_size_limit")
	c.number(fs, func(*Settings, int) {}, "max_traced_msg_len")
}

func (c *commandLine) accessFlags(fs *flag.FlagSet) {
	c.text(fs, (*Settings).SetUser, "user")
	c.text(fs, (*Settings).SetPassword, "pass")
	c.text(fs, (*Settings).SetToken, "auth")
	c.boolean(fs, func(s *Settings, on bool) { s.flagTLS.on = on }, "tls")
	c.boolean(fs, func(s *Settings, on bool) { s.flagTLS.on, s.flagTLS.verify = s.flagTLS.on || on, on }, "tlsverify")
	c.text(fs, func(s *Settings, v string) { s.flagTLS.cert = v }, "tlscert")
	c.text(fs, func(s *Settings, v string) { s.flagTLS.key = v }, "tlskey")
	c.text(fs, func(s *Settings, v string) { s.flagTLS.ca = v }, "tlscacert")
}

// idleFlags are of features that do not exist here.
func (c *commandLine) idleFlags(fs *flag.FlagSet) {
	c.boolean(fs, func(s *Settings, on bool) { s.idle(on, "-js") }, "js", "jetstream")
	c.text(fs, func(s *Settings, _ string) { s.idle(true, "-sd") }, "sd", "store_dir")
	for _, name := range []string{"routes", "cluster", "cluster_listen", "cluster_name", "cluster_advertise"} {
		c.text(fs, func(s *Settings, v string) { s.idle(v != "", "-"+name) }, name)
	}
	c.boolean(fs, func(s *Settings, on bool) { s.idle(on, "-no_advertise") }, "no_advertise")
	c.number(fs, func(s *Settings, n int) { s.idle(true, "-connect_retries") }, "connect_retries")
}

func (s *Settings) idle(given bool, name string) {
	if given {
		s.warn(name + " is ignored: there is no such feature here")
	}
}
