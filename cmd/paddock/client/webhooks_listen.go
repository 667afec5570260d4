package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"paddock/internal/platform/deliver/webhook"
	"paddock/internal/process/lifecycle"
)

// maxListened bounds the body of a request to webhooks listen, in bytes.
const maxListened = 16 << 20

// webhooksListenCmd is an endpoint for development.
type webhooksListenCmd struct {
	Port   int    `default:"8090" help:"Port on 127.0.0.1; 0 takes a free one."`
	Secret string `placeholder:"SECRET" help:"What requests are signed with (default a new one, which is printed)."`
	Answer int    `default:"200" placeholder:"STATUS" help:"The status of each answer, 200 to 599, to see what the platform does."`
	JSON   bool   `name:"json" help:"Print a JSON object for each request."`
}

// Help describes the output.
func (*webhooksListenCmd) Help() string {
	return `Each request is a line: whether its signature and its time are right, its webhook-id, and its body. The platform has to allow the address: webhooks.allow in its file has to list 127.0.0.0/8.`
}

// Run prints requests until a signal.
func (k *webhooksListenCmd) Run(ctx context.Context, c *Console) error {
	if k.Answer < 200 || k.Answer > 599 {
		return usagef("--answer %d: 200 to 599", k.Answer)
	}
	text := k.Secret
	if text == "" {
		text = webhook.NewSecret()
	}
	secret, err := webhook.ParseSecret(text)
	if err != nil {
		return usagef("--secret: %w", err)
	}
	log, err := c.Logger("warn")
	if err != nil {
		return err
	}
	l := &hookListener{k: k, secret: secret, out: c.Stdout}
	server := &http.Server{Handler: l, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	var at net.Listener
	group := &lifecycle.Group{Logger: log}
	group.Add(lifecycle.Service{
		Name: "listener",
		Start: func(ctx context.Context) (err error) {
			var lc net.ListenConfig
			if at, err = lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(k.Port))); err != nil {
				return err
			}
			address := "http://" + at.Addr().String() + "/"
			if k.JSON {
				return nil
			}
			fmt.Fprintf(c.Stdout, "Listening: %s\nAllow it:  webhooks: {allow: [127.0.0.1]} in the platform's file\nAdd it:    paddock webhooks add dev %s --secret %s\n", address, address, text)
			return nil
		},
		Run: func(context.Context) error {
			if err := server.Serve(at); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
		Drain: server.Shutdown,
	})
	return group.Run(ctx)
}

// hookListener prints and verifies requests.
type hookListener struct {
	k      *webhooksListenCmd
	secret webhook.Secret

	mu  sync.Mutex
	out io.Writer
}

// ServeHTTP implements [http.Handler].
func (l *hookListener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxListened))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.print(r, body, webhook.Verify(r.Header, body, l.secret, time.Now()))
	w.WriteHeader(l.k.Answer)
}

func (l *hookListener) print(r *http.Request, body []byte, fault error) {
	id, replay := r.Header.Get("Webhook-Id"), r.Header.Get("Paddock-Replay") == "1"
	var line []byte
	if l.k.JSON {
		object := map[string]any{"id": id, "verified": fault == nil, "replay": replay, "body": json.RawMessage(body)}
		if !json.Valid(body) {
			object["body"] = string(body)
		}
		if fault != nil {
			object["fault"] = fault.Error()
		}
		line, _ = json.Marshal(object) // such values always encode
	} else {
		verdict := "verified"
		if fault != nil {
			verdict = "NOT VERIFIED: " + fault.Error() + ":"
		}
		if replay {
			verdict += " replay"
		}
		line = fmt.Appendf(nil, "%s %s %s", verdict, id, body)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(append(line, '\n')) // nothing else to tell it to
}
