package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"paddock/internal/platform/doctor"
	"paddock/internal/process/version"
)

// Doctor tells what is wrong with a running platform. See docs/guides/doctor.md.
type Doctor struct {
	URL  string   `arg:"" optional:"" placeholder:"URL" help:"Address of the platform, in place of --server."`
	Only []string `sep:"," placeholder:"NAME" help:"Make these checks alone; may be repeated."`
	JSON bool     `name:"json" help:"Print an object as GET /v1/doctor answers it, with the checks of this side too."`
	remote
}

// Help describes the checks of this side and the exit codes.
func (*Doctor) Help() string {
	return `The platform examines itself, and this command adds what only a client sees: clock (this machine's, against the server's), client-version, server-certificate, bus-port and wire-port. Each check has a status, a sentence, and a way out if something is wrong.

Exit codes: 0 there is no problem, also with warnings, 1 there is one, or the platform does not answer, 2 usage.

    paddock doctor
    paddock doctor https://fleet.example.org --only disk,flapping`
}

// Run asks the platform, looks for itself, and prints the results.
func (d *Doctor) Run(ctx context.Context, c *Console) error {
	report, err := d.examine(ctx, d.Only)
	if err != nil {
		return err
	}
	if d.JSON {
		err = c.printJSON(report)
	} else {
		err = printReport(c.Stdout, report)
	}
	if err != nil {
		return err
	}
	problems := 0
	for _, r := range report.Checks {
		if r.Status == doctor.Problem {
			problems++
		}
	}
	switch problems {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 problem")
	}
	return fmt.Errorf("%d problems", problems)
}

// examine returns the platform's report, with the checks of this side in front of its own.
func (d *Doctor) examine(ctx context.Context, only []string) (*doctor.Report, error) {
	if d.URL != "" {
		d.Server = d.URL
	}
	s := &side{}
	own := doctor.Names(s.checks())
	theirs := slices.DeleteFunc(slices.Clone(only), func(name string) bool { return slices.Contains(own, name) })
	if len(theirs) == 0 && len(only) > 0 {
		theirs = []string{"summary"}
	}
	path := "v1/doctor"
	if len(theirs) > 0 {
		path += "?only=" + url.QueryEscape(strings.Join(theirs, ","))
	}
	s.asked = time.Now()
	res, err := d.open(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		switch text := err.Error(); {
		case strings.Contains(text, "404 Not Found"):
			err = fmt.Errorf("%w: the platform there is older than this program: upgrade it, or use its own paddock", err)
		case strings.HasPrefix(text, "400 ") && len(only) > 0:
			err = usagef("%w; and of this side %s", err, strings.Join(own, ", "))
		}
		return nil, err
	}
	defer res.Body.Close()
	s.answered, s.answer = time.Now(), res
	report := &s.report
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(report); err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", res.Request.URL, err)
	}
	report.Checks = append(doctor.Run(ctx, s.checks(), only), report.Checks...)
	report.Status = doctor.Worst(report.Checks)
	return report, nil
}

// printReport prints a line for each check, and below it what to do.
func printReport(to io.Writer, report *doctor.Report) error {
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, r := range report.Checks {
		fmt.Fprintf(out, "%s\t%s\t%s\n", r.Status, plainText(r.Name), plainText(r.Text))
		for _, i := range r.Items {
			text := i.Text
			if i.Door != "" {
				text = i.Door + ": " + text
			}
			if i.Set != "" && i.Object == "" {
				text = i.Set + " " + i.Fence + ": " + text
			}
			fmt.Fprintf(out, "\t\t- %s\n", plainText(text))
			if i.Advice != "" {
				fmt.Fprintf(out, "\t\t  %s\n", plainText(i.Advice))
			}
		}
		if r.Omitted > 0 {
			fmt.Fprintf(out, "\t\t- and %d more\n", r.Omitted)
		}
		if r.Advice != "" {
			fmt.Fprintf(out, "\t\t=> %s\n", plainText(r.Advice))
		}
	}
	return out.Flush()
}

// plainText returns a text with spaces for control characters, which a terminal or the table would
// obey.
func plainText(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 {
			return ' '
		}
		return c
	}, s)
}

// side is what a client sees of a platform.
type side struct {
	asked, answered time.Time
	answer          *http.Response
	report          doctor.Report
}

// checks returns the checks of a client.
func (s *side) checks() []doctor.Check {
	plain := func(run func() doctor.Result) func(context.Context) doctor.Result {
		return func(context.Context) doctor.Result { return run() }
	}
	return []doctor.Check{
		{Name: "clock", Run: plain(s.clock)},
		{Name: "client-version", Run: plain(s.version)},
		{Name: "server-certificate", Run: plain(s.certificate)},
		{Name: "bus-port", Run: func(ctx context.Context) doctor.Result { return s.port(ctx, "bus") }},
		{Name: "wire-port", Run: func(ctx context.Context) doctor.Result { return s.port(ctx, "wire") }},
	}
}

const (
	// someSkew is the clock difference of a warning, muchSkew that of a problem. Date has whole
	// seconds.
	someSkew = 3 * time.Second
	muchSkew = time.Minute
)

// clock compares the clock of this machine with the one of the server.
func (s *side) clock() doctor.Result {
	at, err := http.ParseTime(s.answer.Header.Get("Date"))
	if err != nil {
		return doctor.Skip("the answer has no Date")
	}
	var skew time.Duration // the least that asked and answered permit
	switch early, late := at.Sub(s.answered), at.Add(time.Second).Sub(s.asked); {
	case early > 0:
		skew = early
	case late < 0:
		skew = late
	}
	side := "ahead of"
	if skew < 0 {
		side = "behind"
	}
	text := fmt.Sprintf("the server's clock is %v %s this machine's", skew.Abs().Round(time.Second), side)
	advice := "set both clocks by NTP (timedatectl set-ntp true): positions ahead of the server's clock by track.max_ahead are rejected, and keys end by it"
	switch {
	case skew.Abs() >= muchSkew:
		return doctor.Judge(doctor.Problem, text, advice)
	case skew.Abs() >= someSkew:
		return doctor.Judge(doctor.Warning, text, advice)
	}
	return doctor.Judge(doctor.OK, "the server's clock and this machine's agree", "")
}

// version compares this build with the one of the server.
func (s *side) version() doctor.Result {
	own, theirs := buildOf(version.Get().String()), buildOf(s.report.Version)
	if own != theirs {
		return doctor.Judge(doctor.Warning, fmt.Sprintf("this is %s, and the server %s", own, theirs),
			"upgrade the older one of the two: CHANGELOG.md has what differs; the newer program reads the data of the older one")
	}
	return doctor.Judge(doctor.OK, own+" on both sides", "")
}

// buildOf returns a text of a version without the compiler and the machine.
func buildOf(text string) string {
	build, _, _ := strings.Cut(text, " go1")
	return build
}

// certificate judges the certificate that the server has shown.
func (s *side) certificate() doctor.Result {
	if s.answer.TLS == nil {
		return doctor.Skip("the connection has no TLS")
	}
	var all []doctor.Certificate
	for _, c := range s.answer.TLS.PeerCertificates {
		all = append(all, doctor.Certificate{Of: c.Subject.String(), Ends: c.NotAfter})
	}
	return doctor.JudgeCertificates(all, time.Now())
}
