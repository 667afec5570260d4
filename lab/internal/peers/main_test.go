package peers

import (
	"bufio"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"go.uber.org/goleak"
)

// stubs stand for the programs that no package has. Each is this test under the name of the
// program, takes its command line alone, and prints what it prints.
var stubs = map[string]func(args []string) error{
	Gofast: perfStub, Goab: goabStub, GoHTTP: gohttpStub, Gofence: gofenceStub,
	Tunneld: tunneldStub, Tunnel: tunnelStub, Koding: kodingStub,
}

func TestMain(m *testing.M) {
	stub := stubs[filepath.Base(os.Args[0])]
	if stub == nil {
		goleak.VerifyTestMain(m)
		return
	}
	if err := stub(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(0)
}

// stub returns the path of a stub, as Find finds it.
func stub(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	path, err := Find(name, map[string]string{name: link})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func perfStub(args []string) error {
	f := flag.NewFlagSet("perf", flag.ContinueOnError)
	server, client := f.Bool("s", false, ""), f.Bool("c", false, "")
	addr, do := f.String("addr", "127.0.0.1:9998", ""), f.String("do", "post", "")
	count, routines, conns := f.Int("count", 1, ""), f.Int("routines", 1, ""), f.Int("conns", 1, "")
	f.Int("batchsize", 1, "")
	f.Int("payload", 512, "")
	stream := f.Int("stream", 1_000_000, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case *server:
		return perfServer(*addr)
	case !*client:
		return errors.New("ERROR: either start in server mode or client mode")
	}
	nc, err := net.Dial("tcp", *addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	if _, err := nc.Write([]byte("hello")); err != nil {
		return err
	}
	fmt.Println()
	if *count == 1 && *stream == 1 {
		log.Fatalf("Run client for longer duration !!")
	}
	n := map[string]int{"n_txpost": 0, "n_txreq": *conns * *routines, "n_txstart": 0, "n_txstream": 0}
	second := ""
	switch *do {
	case "post":
		n["n_txpost"], second = *conns**count, " /second"
	case "request":
		n["n_txreq"] += *conns * *count
	case "streamtx":
		n["n_txstart"], n["n_txstream"] = *conns**count, *conns**count**stream
	}
	fmt.Printf("Latency Average: 11.474µs\nThroughput: 83334%s\n\n", second)
	fmt.Printf("stats { \"n_rx\":15, \"n_txpost\":%d, \"n_txreq\":%d, \"n_txstart\":%d, \"n_txstream\":%d }\n", n["n_txpost"], n["n_txreq"], n["n_txstart"], n["n_txstream"])
	fmt.Println("request stats: n:1000000 mean:11.474µs var:2m25.205163142s sd:381.057µs")
	return nil
}

// perfServer ends when a connection ends without a handshake, or its standard input does.
func perfServer(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on %v\nPress CTRL-D to exit\n", addr)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := nc.Read(make([]byte, 5)); err != nil {
				panic(err)
			}
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func goabStub(args []string) error {
	f := flag.NewFlagSet("goab", flag.ContinueOnError)
	conns, requests, errs := f.Int("c", 1, ""), f.Int("n", 1, ""), f.Bool("k", false, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	var crew sync.WaitGroup
	for i := range *conns {
		crew.Go(func() {
			for n := i; n < *requests; n += *conns {
				answer, err := http.Get(f.Arg(0))
				if err != nil {
					panic(err)
				}
				answer.Body.Close()
			}
		})
	}
	crew.Wait()
	fmt.Printf("Avg latency over %v requests: %v \nMax latency: %v \n", *requests, 2040*time.Microsecond, 24*time.Millisecond)
	if *errs {
		fmt.Println("Total error count:", 0)
	}
	fmt.Println("Total time:", time.Since(began))
	fmt.Printf("TPS: %.2f \n", 9785.123)
	return nil
}

func gohttpStub(args []string) error {
	f := flag.NewFlagSet("gohttp", flag.ContinueOnError)
	port := f.Int("p", 8080, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	files := http.FileServer(http.Dir("./web"))
	return http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files.ServeHTTP(w, r)
		fmt.Printf("%s\t%s\n", r.RequestURI, r.Method)
	}))
}

// gofenceStub answers searches with its arguments.
func gofenceStub(args []string) error {
	f := flag.NewFlagSet("fence", flag.ContinueOnError)
	kind, zoom, port, profile := f.String("fence", "rtree", ""), f.Int("zoom", 18, ""), f.Int("port", 8080, ""), f.Bool("profile", false, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	if files, _ := filepath.Glob(filepath.Join(f.Arg(0), "*json")); len(files) == 0 {
		return fmt.Errorf("no files in %s", f.Arg(0))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /fence", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `["tracts"]`) })
	mux.HandleFunc("GET /fence/tracts/search", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, *kind, " ", *zoom, " ", *profile, " ", os.Getenv("NYC_BOROS_PATH"))
	})
	mux.HandleFunc("POST /fence/tracts/search", func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength <= 0 {
			http.Error(w, "Invalid query unexpected end of JSON input", http.StatusBadRequest)
		}
	})
	return http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), mux)
}

// front answers visitors of a tunnel from the service of each host, once that is known.
type front struct{ services sync.Map }

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, ok := f.services.Load(r.Host)
	if !ok {
		http.NotFound(w, r)
		return
	}
	httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target.(string)}).ServeHTTP(w, r)
}

func tunneldStub(args []string) error {
	f := flag.NewFlagSet("tunneld", flag.ContinueOnError)
	httpAddr, httpsAddr, tunnelAddr := f.String("httpAddr", ":80", ""), f.String("httpsAddr", ":443", ""), f.String("tunnelAddr", ":5223", "")
	crt, key := f.String("tlsCrt", "server.crt", ""), f.String("tlsKey", "server.key", "")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *httpsAddr != "" {
		return fmt.Errorf("listen %s: permission denied", *httpsAddr)
	}
	pair, err := tls.LoadX509KeyPair(*crt, *key)
	if err != nil {
		return err
	}
	l, err := tls.Listen("tcp", *tunnelAddr, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert})
	if err != nil {
		return err
	}
	visitors := &front{}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			if line, err := bufio.NewReader(nc).ReadString('\n'); err == nil {
				host, target, _ := strings.Cut(strings.TrimSpace(line), " ")
				visitors.services.Store(host, target)
			}
		}
	}()
	return http.ListenAndServe(*httpAddr, visitors)
}

func tunnelStub(args []string) error {
	f := flag.NewFlagSet("tunnel", flag.ContinueOnError)
	config := f.String("config", "tunnel.yml", "")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.Arg(0) != "start-all" {
		return fmt.Errorf("unknown command %q", f.Arg(0))
	}
	text, err := os.ReadFile(*config)
	if err != nil {
		return err
	}
	var c struct {
		Server  string `yaml:"server_addr"`
		Crt     string `yaml:"tls_crt"`
		Key     string `yaml:"tls_key"`
		Tunnels map[string]struct{ Proto, Addr, Host string }
	}
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.Crt, c.Key)
	if err != nil {
		return err
	}
	nc, err := tls.Dial("tcp", c.Server, &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true})
	if err != nil {
		return err
	}
	for _, one := range c.Tunnels {
		if one.Proto != "http" {
			return fmt.Errorf("proto %q", one.Proto)
		}
		fmt.Fprintln(nc, one.Host, one.Addr)
	}
	_, err = io.Copy(io.Discard, nc)
	return err
}

func kodingStub(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("arguments %q", args)
	}
	if args[0] == "client" {
		answer, err := http.PostForm("http://"+args[1]+"/_control", url.Values{"token": {args[3]}, "target": {args[2]}})
		if err != nil {
			return err
		}
		answer.Body.Close()
		select {}
	}
	visitors := &front{}
	mux := http.NewServeMux()
	mux.Handle("/", visitors)
	mux.HandleFunc("POST /_control", func(_ http.ResponseWriter, r *http.Request) {
		if r.FormValue("token") == args[3] {
			visitors.services.Store(args[2], r.FormValue("target"))
		}
	})
	return http.ListenAndServe(args[1], mux)
}
