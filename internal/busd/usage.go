package busd

// usage lists the flags under the other program name.
const usage = `
Usage: nats-server [flags]

This is Paddock's broker, which is NATS-protocol compatible and goes by this name
for tools that start it. ` + "`paddock bus --help`" + ` has the flags of its own name.

Server:
    -a, -addr, -net HOST            listen on this address (0.0.0.0)
    -p, -port PORT                  listen on this port (4222); -1 takes a free one
    -n, -name, -server_name NAME    name that clients are told (the server's id)
    -P, -pid FILE                   write the process id here
    -m, -http_port PORT             monitoring by HTTP; -1 takes a free port
    -ms, -https_port PORT           monitoring by HTTPS
    -c, -config FILE                configuration file; flags go over it
    -t                              check the configuration file, and exit
    -sl, -signal SIGNAL[=PID]       send stop, quit, term, reopen, reload or ldm to
                                    a process by its id or pid file, and exit
    -client_advertise HOST:PORT     where clients reach this server
    -ports_file_dir DIR             write <program>_<pid>.ports here
    -profile PORT                   profiles by HTTP, on loopback

Log:
    -l, -log FILE                   write the log here instead of to stderr
    -T, -logtime                    with times (true)
    -logtime_utc                    in UTC
    -s, -syslog                     to the system's log
    -r, -remote_syslog ADDRESS      to a syslog server
    -D, -debug                      debug lines
    -V, -trace, -VV                 protocol traces
    -DV, -DVV                       both
    -log_size_limit BYTES           put the file aside when it has grown to this
    -max_traced_msg_len N           without effect: 1,024 bytes of each

Who may connect:
    -user USER, -pass PASSWORD      one user
    -auth TOKEN                     a token
    -tls                            TLS, with:
    -tlscert FILE, -tlskey FILE     the server's certificate and key
    -tlsverify                      clients need a certificate
    -tlscacert FILE                 by one of these authorities

Accepted without effect:
    -js, -jetstream, -sd, -store_dir DIR, -routes URLS, -cluster URL,
    -cluster_listen URL, -cluster_name NAME, -cluster_advertise URL,
    -no_advertise, -connect_retries N

    -h, -help, -v, -version, -help_tls
`

// tlsUsage is the answer to -help_tls.
const tlsUsage = `
The tls block of a configuration file:

    tls {
        cert_file: "server.pem"     # or certs: [{cert_file, key_file}, ..]
        key_file: "server.key"
        ca_file: "clients-ca.pem"   # who signs the certificates of clients
        verify: true                # clients need one
        verify_and_map: true        # and it names the user
        timeout: "2s"               # of the handshake
        min_version: "1.2"          # or "1.3"
        cipher_suites: ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]
        curve_preferences: ["X25519"]
        pinned_certs: ["<sha256 of the public key, hex>"]
        connection_rate_limit: 100  # handshakes a second
        handshake_first: auto       # true, false, auto, or a duration
    }
`
