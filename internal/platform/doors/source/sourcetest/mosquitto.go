// Package sourcetest runs an MQTT broker for tests: mosquitto, as a process of its own.
package sourcetest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
)

const patience = 30 * time.Second

// User and Password are those of the broker's one user.
const (
	User     = "paddock"
	Password = "s3cret of the broker"
)

// Broker is a mosquitto on a free port of loopback. It keeps sessions in memory while it runs.
type Broker struct {
	Addr string

	t       testing.TB
	config  string
	process *exec.Cmd
	ended   chan struct{}
}

// Mosquitto starts a broker that runs until the test ends. Without mosquitto the test is skipped,
// or fails if PADDOCK_REQUIRE_MOSQUITTO is 1.
func Mosquitto(t testing.TB) *Broker {
	t.Helper()
	for _, name := range []string{"mosquitto", "mosquitto_passwd"} {
		if _, err := find(name); err != nil {
			if os.Getenv("PADDOCK_REQUIRE_MOSQUITTO") == "1" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	b := &Broker{t: t, config: filepath.Join(t.TempDir(), "mosquitto.conf")}
	for try := 0; ; try++ {
		err := b.choose()
		if err == nil {
			err = b.start()
		}
		if err == nil {
			break
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
	t.Cleanup(b.Stop)
	return b
}

// find returns a program, which Debian has in a directory for administrators.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/" + name)
}

// choose writes a configuration with a port that was free a moment ago.
func (b *Broker) choose() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.Addr = ln.Addr().String()
	if err := ln.Close(); err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(b.Addr)
	passwords := b.config + ".passwords"
	tool, err := find("mosquitto_passwd")
	if err != nil {
		return err
	}
	if out, err := exec.Command(tool, "-c", "-b", passwords, User, Password).CombinedOutput(); err != nil {
		return fmt.Errorf("mosquitto_passwd: %w: %s", err, out)
	}
	text := fmt.Sprintf("listener %s 127.0.0.1\nallow_anonymous false\npassword_file %s\npersistence false\nlog_dest stderr\n", port, passwords)
	if os.Geteuid() == 0 {
		text += "user root\n" // so that it may read the file of passwords
	}
	return os.WriteFile(b.config, []byte(text), 0o600)
}

// start starts the process, and waits until it accepts connections.
func (b *Broker) start() error {
	path, err := find("mosquitto")
	if err != nil {
		return err
	}
	b.process, b.ended = exec.Command(path, "-c", b.config), make(chan struct{})
	if err := b.process.Start(); err != nil {
		return err
	}
	go func(c *exec.Cmd, ended chan struct{}) { // ends with the process
		_ = c.Wait()
		close(ended)
	}(b.process, b.ended)
	for deadline := time.Now().Add(patience); ; {
		conn, err := net.Dial("tcp", b.Addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-b.ended:
			return fmt.Errorf("mosquitto has ended: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			b.Stop()
			return err
		}
	}
}

// Stop kills the broker, which forgets everything.
func (b *Broker) Stop() {
	_ = b.process.Process.Kill()
	<-b.ended
}

// Restart starts it again at the same address.
func (b *Broker) Restart() {
	b.t.Helper()
	if err := b.start(); err != nil {
		b.t.Fatal(err)
	}
}

// Publish publishes a message, and returns when the broker has it if qos is not 0.
func (b *Broker) Publish(topic, payload string, qos byte) {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.Addr)
	if err != nil {
		b.t.Fatal(err)
	}
	client := paho.NewClient(paho.ClientConfig{Conn: packets.NewThreadSafeConn(conn), PacketTimeout: patience})
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	_, err = client.Connect(ctx, &paho.Connect{
		ClientID: fmt.Sprintf("test-%d", time.Now().UnixNano()), KeepAlive: 30, CleanStart: true,
		Username: User, UsernameFlag: true, Password: []byte(Password), PasswordFlag: true,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := client.Publish(ctx, &paho.Publish{Topic: topic, Payload: []byte(payload), QoS: qos}); err != nil {
		b.t.Error(err)
	}
	_ = client.Disconnect(&paho.Disconnect{})
	<-client.Done()
}
