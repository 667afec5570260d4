// Package sourcetest runs an MQTT broker for tests: mosquitto, as a process of its own.
package sourcetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
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
	Addr   string // 127.0.0.1 and a port
	Secure string // with TLS, likewise
	CA     string // file with the certificate that signs the one of Secure

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

// choose writes a configuration with ports that were free a moment ago.
func (b *Broker) choose() error {
	var ports [2]string
	for i, to := range []*string{&b.Addr, &b.Secure} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer ln.Close() // so that they differ
		*to = ln.Addr().String()
		_, ports[i], _ = net.SplitHostPort(*to)
	}
	passwords := b.config + ".passwords"
	tool, err := find("mosquitto_passwd")
	if err != nil {
		return err
	}
	if out, err := exec.Command(tool, "-c", "-b", passwords, User, Password).CombinedOutput(); err != nil {
		return fmt.Errorf("mosquitto_passwd: %w: %s", err, out)
	}
	if b.CA == "" {
		if err := b.certify(); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("allow_anonymous false\npassword_file %s\npersistence false\nlog_dest stderr\nlistener %s 127.0.0.1\nlistener %s 127.0.0.1\ncertfile %s\nkeyfile %s\n",
		passwords, ports[0], ports[1], b.CA, b.config+".key")
	if os.Geteuid() == 0 {
		text = "user root\n" + text // so that it may read its files
	}
	return os.WriteFile(b.config, []byte(text), 0o600)
}

// certify makes a certificate for 127.0.0.1, which signs itself.
func (b *Broker) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "broker of a test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	b.CA = b.config + ".crt"
	return errors.Join(
		os.WriteFile(b.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(b.config+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
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
