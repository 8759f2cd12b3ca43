package sandbox

// systemRead returns the files and folders that any program needs to read: programs
// and libraries, the files in /etc for loaders, TLS, time and names, and the files
// in /proc that describe the machine and the process itself.
func systemRead() []string {
	return []string{
		"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix/store", "/run/current-system/sw",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
		"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/openssl.cnf", "/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies",
		"/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/locale.alias",
		"/etc/hosts", "/etc/host.conf", "/etc/hostname", "/etc/resolv.conf", "/run/systemd/resolve", "/etc/nsswitch.conf", "/etc/gai.conf",
		"/etc/protocols", "/etc/services", "/etc/networks", "/etc/passwd", "/etc/group", "/etc/mime.types", "/etc/magic",
		"/etc/os-release", "/etc/debian_version", "/etc/gitconfig", "/etc/python3", "/etc/python3.11", "/etc/fonts",
		"/proc/self", "/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems", "/proc/sys",
		"/sys/fs/cgroup", "/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage",
		"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom",
	}
}

// systemWrite returns the files that any program may write.
func systemWrite() []string { return []string{"/dev/null"} }
