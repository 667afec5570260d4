package client

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock/internal/platform"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/doctor"
	"paddock/internal/process/config"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/version"
)

// patience bounds every wait of these tests; it is never the expected outcome.
const patience = 30 * time.Second

// patient is a real platform on free ports.
type patient struct {
	*testing.T
	*platform.Platform
	url string
}

// start runs a platform until the test ends.
func start(t *testing.T, change func(*platform.Options)) *patient {
	t.Helper()
	cfg := config.Default()
	cfg.HTTP.Listen, cfg.Bus.Listen, cfg.Wire.Listen, cfg.Sets.Snapshots, cfg.Track.Policy = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "off", "raw"
	o := platform.Options{Config: cfg, Logger: slog.New(slog.DiscardHandler), Version: version.Get().String()}
	if change != nil {
		change(&o)
	}
	p := platform.New(o)
	signals, ready, done := make(chan os.Signal, 1), make(chan struct{}), make(chan error, 1)
	group := &lifecycle.Group{Logger: o.Logger, Signals: signals, Timeout: patience}
	p.AddTo(group)
	group.Add(lifecycle.Service{Name: "ready", Start: func(context.Context) error { close(ready); return nil }})
	go func() { done <- group.Run(context.WithoutCancel(t.Context())) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal("the platform does not start: ", err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		signals <- syscall.SIGTERM
		if err := <-done; err != nil {
			t.Errorf("the platform ended with: %v", err)
		}
	})
	return &patient{t, p, strings.TrimSuffix(p.URL(), "/")}
}

// send makes a request that must succeed.
func (p *patient) send(method, path, body string) {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), method, p.url+"/"+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer res.Body.Close()
	if answer, _ := io.ReadAll(res.Body); res.StatusCode/100 != 2 {
		p.Fatalf("%s %s: %d %s", method, path, res.StatusCode, answer)
	}
}

// doctor runs `paddock doctor --json --only` and returns the result of one check.
func (p *patient) doctor(check string) (doctor.Result, error) {
	p.Helper()
	var out bytes.Buffer
	command := &Doctor{URL: p.url, Only: []string{check}, JSON: true}
	failure := command.Run(p.Context(), &Console{Stdout: &out, Stderr: io.Discard})
	var report doctor.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || len(report.Checks) != 1 {
		p.Fatalf("%v, %v: %s", failure, err, out.Bytes())
	}
	return report.Checks[0], failure
}

// finds waits until a check has this status, and looks for words in what it says, and in its way
// out. The exit code is that of a problem only with one.
func (p *patient) finds(check string, status doctor.Status, text, advice string) {
	p.Helper()
	for deadline := time.Now().Add(patience); ; {
		r, err := p.doctor(check)
		if r.Status == status {
			all, _ := json.Marshal(r)
			if !strings.Contains(string(all), text) || !strings.Contains(r.Advice, advice) || r.Advice == "" || (err != nil) != (status == doctor.Problem) {
				p.Errorf("%v: %s", err, all)
			}
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("%s: %+v", check, r)
		}
		<-time.After(20 * time.Millisecond)
	}
}

const square = `{"type":"FeatureCollection","features":[{"type":"Feature","id":"yard","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,2],[0,0]]]}}]}`

// pair writes a certificate for so many days, and its key.
func pair(t *testing.T, days int) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Duration(days) * 24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv6loopback, net.IPv4(127, 0, 0, 1)},
	}
	leaf, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: leaf}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestADoctorFindsNothing examines a platform without a fault: what the tests below plant is not
// there.
func TestADoctorFindsNothing(t *testing.T) {
	p := start(t, nil)
	p.send(http.MethodPut, "v1/sets/depots", square)
	p.send(http.MethodPost, "v1/positions", `{"id":"a","lon":1,"lat":1}`)
	for _, check := range []string{"clock", "client-version", "bus-port", "wire-port", "rejected", "device-clocks", "flapping", "fences", "subscribers"} {
		if r, err := p.doctor(check); err != nil || r.Status != doctor.OK || r.Advice != "" || r.Text == "" {
			t.Errorf("%v: %+v", err, r)
		}
	}
	for _, check := range []string{"webhooks", "sinks", "sources", "disk", "fsync", "certificates", "server-certificate", "tunnel", "set-files"} {
		if r, err := p.doctor(check); err != nil || r.Status != doctor.Skipped || r.Text == "" {
			t.Errorf("%v: %+v", err, r)
		}
	}
	var out bytes.Buffer
	if err := (&Doctor{remote: remote{Server: p.url}}).Run(t.Context(), &Console{Stdout: &out}); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"ok", "wire-port", "takes connections", "skipped", "tunnel", "there is no tunnel"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// The tests below plant one fault each on a real platform.

func TestDoctorFindsRejectedPositions(t *testing.T) {
	p := start(t, nil)
	p.send(http.MethodPost, "v1/positions", `[{"id":"lost","lon":1,"lat":95},{"id":"b","lon":1,"lat":1}]`)
	p.finds("rejected", doctor.Problem, "lat: 95 is out of range", "correct what the devices send")
}

func TestDoctorFindsAClockAhead(t *testing.T) {
	p := start(t, nil)
	p.send(http.MethodPost, "v1/positions?fleet=trams", fmt.Sprintf(`{"id":"tram-7","fleet":"trams","lon":1,"lat":1,"t":%d}`, time.Now().Add(40*time.Second).UnixMilli()))
	p.finds("device-clocks", doctor.Warning, `"fleet":"trams","object":"tram-7"`, "NTP")
}

func TestDoctorFindsAFlappingObject(t *testing.T) {
	p := start(t, nil)
	p.send(http.MethodPut, "v1/sets/depots", square)
	begun := time.Now().Add(-5 * time.Minute)
	for i := range 8 {
		p.send(http.MethodPost, "v1/positions", fmt.Sprintf(`{"id":"van","lon":%d,"lat":1,"t":%d}`, 1+i%2*2, begun.Add(time.Duration(i)*30*time.Second).UnixMilli()))
	}
	p.finds("flapping", doctor.Warning, `"object":"van","set":"depots","fence":"yard","advice":"the policy steady`, "dwell:1m")
}

func TestDoctorFindsAFailingWebhook(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	p := start(t, func(o *platform.Options) {
		o.Webhooks = &hooks.Settings{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	})
	p.send(http.MethodPut, "v1/webhooks/billing", fmt.Sprintf(`{"url":"http://%s/in"}`, closed.Addr()))
	p.send(http.MethodPut, "v1/sets/depots", square)
	for i := range 2 {
		p.send(http.MethodPost, "v1/positions", fmt.Sprintf(`{"id":"van","lon":%d,"lat":1,"t":%d}`, 3-2*i, time.Now().UnixMilli()-10+int64(i)))
	}
	p.finds("webhooks", doctor.Warning, "billing has failed", "paddock webhooks retry")
}

func TestDoctorFindsAnExpiringCertificate(t *testing.T) {
	p := start(t, func(o *platform.Options) { o.Config.Wire.Cert, o.Config.Wire.Key = pair(t, 5) })
	p.finds("certificates", doctor.Warning, "wire.cert ends on", "renew the certificate")
}

func TestDoctorFindsALowLimitOfFiles(t *testing.T) {
	p := start(t, func(*platform.Options) { lowFiles(t) })
	p.finds("open-files", doctor.Warning, "at most 1024", "LimitNOFILE")
}

func TestDoctorFindsABrokenFence(t *testing.T) {
	p := start(t, nil)
	p.send(http.MethodPut, "v1/sets/depots", strings.Replace(square, `"features":[`, `"features":[{"type":"Feature","id":"torn","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}},`, 1))
	p.finds("fences", doctor.Warning, `"fence":"torn"`, "correct the shapes")
}

// TestDoctorFindsASlowSubscriber lets a client of the bus subscribe to all events and read none.
func TestDoctorFindsASlowSubscriber(t *testing.T) {
	p := start(t, func(o *platform.Options) { o.Config.Bus.MaxPayload, o.Config.Bus.MaxPending = 64<<10, 64<<10 })
	p.send(http.MethodPut, "v1/sets/depots", square)
	conn, err := net.Dial("tcp", p.BusAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "CONNECT {\"verbose\":false,\"name\":\"sleeper\"}\r\nSUB fence.> 1\r\nPING\r\n"); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	for got := ""; !strings.Contains(got, "PONG"); {
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		got += string(buffer[:n])
	}
	large := strings.Repeat("x", 15<<10)
	for i := range 200 { // until the buffers of both sockets are full
		var body []string
		for k := range 50 {
			body = append(body, fmt.Sprintf(`{"id":"v%d","lon":%d,"lat":1,"props":{"note":%q}}`, k, 1+i%2*2, large))
		}
		p.send(http.MethodPost, "v1/positions", "["+strings.Join(body, ",")+"]")
		if r, _ := p.doctor("subscribers"); r.Status != doctor.OK {
			break
		}
	}
	p.finds("subscribers", doctor.Warning, "bus", "select fewer events")
}

func TestDoctorFindsAnOldVersion(t *testing.T) {
	p := start(t, func(o *platform.Options) { o.Version = "paddock v0.0.1 go1.26.0 linux/amd64" })
	p.finds("client-version", doctor.Warning, "paddock v0.0.1", "upgrade the older one")
}

// TestDoctorWithoutAnAnswer: a platform that is not there, or too old, and names of no check.
func TestDoctorWithoutAnAnswer(t *testing.T) {
	p := start(t, nil)
	err := (&Doctor{URL: p.url, Only: []string{"laag"}}).Run(t.Context(), &Console{Stdout: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "laag") || !strings.Contains(err.Error(), "bus-port") || !strings.Contains(err.Error(), "flapping") {
		t.Error("an unknown name: ", err)
	}
	old, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: patience}
	go server.Serve(old)
	defer server.Close()
	if err := (&Doctor{URL: "http://" + old.Addr().String()}).Run(t.Context(), &Console{Stdout: io.Discard}); err == nil || !strings.Contains(err.Error(), "older than this program") {
		t.Error("an old platform: ", err)
	}
}

// TestReachable finds the address at which a client reaches an interface.
func TestReachable(t *testing.T) {
	for _, c := range [][3]string{
		{"nats://127.0.0.1:4222", "localhost", "127.0.0.1:4222"},
		{"nats://127.0.0.1:4222", "fleet.example.org", ""},
		{"tls://[::]:4222", "fleet.example.org", "fleet.example.org:4222"},
		{"wire://0.0.0.0:7400", "::1", "[::1]:7400"},
		{"wire://192.0.2.7:7400", "fleet.example.org", "192.0.2.7:7400"},
		{"unix:/run/wire", "localhost", ""},
		{"", "localhost", ""},
	} {
		address, result := reachable(c[0], c[1])
		if address != c[2] || (address == "") != (result.Status == doctor.Skipped) {
			t.Errorf("%v: %q, %+v", c, address, result)
		}
	}
}

// TestClocks compares clocks by the Date of an answer.
func TestClocks(t *testing.T) {
	now := time.Now()
	for skew, want := range map[time.Duration]doctor.Status{
		0: doctor.OK, time.Second: doctor.OK, 10 * time.Second: doctor.Warning, -10 * time.Second: doctor.Warning, time.Hour: doctor.Problem, -time.Hour: doctor.Problem,
	} {
		header := http.Header{"Date": {now.Add(skew).UTC().Format(http.TimeFormat)}}
		s := &side{asked: now, answered: now.Add(time.Millisecond), answer: &http.Response{Header: header}}
		if r := s.clock(); r.Status != want || (r.Advice == "") != (want == doctor.OK) {
			t.Errorf("%v: %+v", skew, r)
		}
	}
	if names := doctor.Names((&side{}).checks()); !slices.Contains(names, "clock") {
		t.Error(names)
	}
}
