package nats

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// dialTime bounds the time until a server has answered the login.
const dialTime = 10 * time.Second

// Dial connects to a server, logs in, sends more, which is operations that the server does not
// answer, and waits for the PONG behind it. in may hold later bytes.
func Dial(ctx context.Context, address string, l Login, more string) (nc net.Conn, in *bufio.Reader, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if nc, err = new(net.Dialer).DialContext(ctx, "tcp", address); err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	in = bufio.NewReaderSize(nc, maxLine)
	if err = greet(nc, in, l, more); err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("greeting: %w", err), nc.Close())
	}
	return nc, in, nil
}

// greet sends two PINGs, because a server may say more behind its first PONG.
func greet(nc net.Conn, in *bufio.Reader, l Login, more string) error {
	said, err := json.Marshal(connect{
		User: l.User, Pass: l.Pass, Token: l.Token, Name: "paddock bench", Lang: "go", Version: "1", Protocol: 1, Headers: true, NoResponders: true,
	})
	if err != nil {
		return err
	}
	for _, text := range []string{"CONNECT " + string(said) + "\r\n" + more + "PING\r\n", "PING\r\n"} {
		if _, err := io.WriteString(nc, text); err != nil {
			return err
		}
		for line := ""; !strings.HasPrefix(line, "PONG"); {
			if line, err = in.ReadString('\n'); err != nil {
				return err
			}
			if strings.HasPrefix(line, "-ERR") {
				return fmt.Errorf("the server says %s", strings.TrimSpace(line[len("-ERR"):]))
			}
		}
	}
	return nil
}
