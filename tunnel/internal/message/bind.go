package message

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"paddock/internal/netio/h1"
	"paddock/internal/netio/hostname"
	"paddock/tunnel"
	"paddock/wire"
)

// The bodies of SPEC section 2.
type (
	BindRequest struct {
		Version  int       `cbor:"1,keyasint,omitempty"`
		SmallMax int       `cbor:"2,keyasint,omitempty"`
		Tunnels  []BindAsk `cbor:"3,keyasint,omitempty"`
	}
	BindAsk struct {
		ID       uint16          `cbor:"1,keyasint,omitempty"`
		Protocol tunnel.Protocol `cbor:"2,keyasint,omitempty"`
		Host     string          `cbor:"3,keyasint,omitempty"`
		Path     string          `cbor:"4,keyasint,omitempty"`
		Address  string          `cbor:"5,keyasint,omitempty"`
		Auth     *BasicAuth      `cbor:"6,keyasint,omitempty"`
		Direct   bool            `cbor:"7,keyasint,omitempty"`
		Group    string          `cbor:"8,keyasint,omitempty"`
	}
	BindAnswer struct {
		Results []BindResult `cbor:"1,keyasint,omitempty"`
		Hints   bool         `cbor:"2,keyasint,omitempty"` // the server takes tunnel.hint
		Groups  bool         `cbor:"3,keyasint,omitempty"` // the server knows groups
	}
	BindResult struct {
		ID     uint16    `cbor:"1,keyasint,omitempty"`
		Where  string    `cbor:"2,keyasint,omitempty"`
		Code   wire.Code `cbor:"3,keyasint,omitempty"`
		Reason string    `cbor:"4,keyasint,omitempty"`
		Direct bool      `cbor:"5,keyasint,omitempty"`
	}
	UnbindRequest struct {
		IDs []uint16 `cbor:"1,keyasint,omitempty"`
	}
	UnbindAnswer struct{}
)

// MaxTunnels bounds the tunnels of one client.
const MaxTunnels = 1_024

// Check validates the parts of a request that do not concern one tunnel alone.
func (r *BindRequest) Check() error {
	switch {
	case r.Version != Version:
		return Refused(wire.InvalidArgument, "bind of version %d", r.Version)
	case r.SmallMax != 0 && (r.SmallMax < MinSmall || r.SmallMax > MaxSmall):
		return Refused(wire.InvalidArgument, "small_max of %d", r.SmallMax)
	case len(r.Tunnels) == 0 || len(r.Tunnels) > MaxTunnels:
		return Refused(wire.InvalidArgument, "%d tunnels", len(r.Tunnels))
	}
	return nil
}

// Binding returns the binding that the client asks for, normalised. For HTTP without a host the
// server chooses one.
func (a *BindAsk) Binding() (b tunnel.Binding, err error) {
	b = tunnel.Binding{Protocol: a.Protocol, Path: strings.TrimSuffix(a.Path, "/"), Address: a.Address, Group: a.Group}
	switch {
	case a.ID == 0:
		return b, errors.New("a tunnel has an id from 1")
	case a.Protocol != tunnel.HTTP && a.Protocol != tunnel.TCP && a.Protocol != tunnel.SNI:
		return b, fmt.Errorf("unknown protocol %.20q", a.Protocol)
	case a.Auth != nil && (a.Protocol != tunnel.HTTP || !a.Auth.valid()):
		return b, errors.New("malformed auth")
	case a.Direct && a.Protocol == tunnel.HTTP:
		return b, errors.New("direct is for tcp and sni")
	case a.Group != "" && checkGroup(a.Group) != nil:
		return b, checkGroup(a.Group)
	case a.Group != "" && a.Protocol == tunnel.HTTP && a.Host == "":
		return b, errors.New("a group needs a host")
	case a.Protocol == tunnel.TCP:
		return b, a.checkAddress()
	case a.Address != "":
		return b, fmt.Errorf("%s has no address", a.Protocol)
	case b.Path != "" && (a.Protocol != tunnel.HTTP || b.Path[0] != '/' || !h1.IsAll(b.Path, h1.TargetByte) || h1.Climbs(b.Path)):
		return b, fmt.Errorf("path %.40q", a.Path)
	}
	if a.Host != "" || a.Protocol == tunnel.SNI {
		b.Host, err = hostname.Pattern(a.Host)
	}
	return b, err
}

// Size is how many bytes it takes in a request, at most.
func (a *BindAsk) Size() int {
	const rest = 32 + saltSize + sha256.Size // keys, lengths, id, protocol; the auth
	return rest + len(a.Host) + len(a.Path) + len(a.Address) + len(a.Group)
}

func (a *BindAsk) checkAddress() error {
	host, port, err := net.SplitHostPort(a.Address)
	number := uint64(0)
	if err == nil {
		number, err = strconv.ParseUint(port, 10, 16)
	}
	if err == nil && number == 0 && a.Group != "" {
		return errors.New("a group needs a port")
	}
	if err != nil || host == "" || a.Host != "" || a.Path != "" {
		return fmt.Errorf("address %.60q: want host:port", a.Address)
	}
	return nil
}

// Refused returns the error with which a handler refuses a request before it has any effect.
func Refused(code wire.Code, format string, args ...any) *wire.Error {
	return &wire.Error{Code: code, Msg: "tunnel: " + fmt.Sprintf(format, args...), NotStarted: true}
}

// errGroup is about a group's name.
var errGroup = errors.New("a group's name is 1 to 64 letters, digits, dots, - and _")

// checkGroup judges a group's name.
func checkGroup(name string) error {
	if len(name) > 64 {
		return errGroup
	}
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return errGroup
		}
	}
	return nil
}

// Refusal is why the tunnel was refused for which the i-th result is.
func (a *BindAnswer) Refusal(i int, group string) error {
	e := &wire.Error{Code: a.Results[i].Code, Msg: a.Results[i].Reason}
	if group != "" && !a.Groups && e.Code == wire.AlreadyExists {
		e.Msg += " (the server knows no groups)"
	}
	return e
}

// ExchangeBytes is the most memory, in bytes, that an exchange or a raw connection takes at the
// client besides its request: a record in each direction.
const ExchangeBytes = 2 * MaxRecord

// BasicAuth is the server's copy of a tunnel's user and password: a salt, and the HMAC-SHA-256 of
// "user:password" under it. One HMAC takes a microsecond of a visitor's request, and reveals the
// password only to a caller that guesses it.
type BasicAuth struct {
	Salt []byte `cbor:"1,keyasint,omitempty"`
	MAC  []byte `cbor:"2,keyasint,omitempty"`
}

const saltSize = 16

// NewBasicAuth hides a user and a password.
func NewBasicAuth(userPassword string) *BasicAuth {
	a := &BasicAuth{Salt: make([]byte, saltSize)}
	_, _ = rand.Read(a.Salt) // never fails
	a.MAC = a.sum(userPassword)
	return a
}

func (a *BasicAuth) sum(userPassword string) []byte {
	mac := hmac.New(sha256.New, a.Salt)
	mac.Write([]byte(userPassword))
	return mac.Sum(nil)
}

func (a *BasicAuth) valid() bool { return len(a.Salt) == saltSize && len(a.MAC) == sha256.Size }

// Admits judges the value of a field Authorization, RFC 7617, in the same time whatever
// is wrong with it.
func (a *BasicAuth) Admits(authorization string) bool {
	scheme, encoded, _ := strings.Cut(authorization, " ")
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	ok := hmac.Equal(a.sum(string(plain)), a.MAC)
	return ok && err == nil && strings.EqualFold(scheme, "Basic")
}
