// Package program runs Portolan's binary where OCM's integration suites start a controller of their own.
// hack/ocm-suite.sh adds this package to OCM's module.
package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

var started atomic.Int32

// Portolan runs `portolan ARGUMENTS` until ctx ends. The program is then killed: a controller must not rely on a
// graceful end.
func Portolan(ctx context.Context, arguments ...string) error {
	return run(ctx, os.Getenv("PORTOLAN"), append(arguments, strings.Fields(os.Getenv("PORTOLAN_ARGUMENTS"))...))
}

// ControllerManager runs the garbage collector and the namespace controller of Kubernetes until ctx ends. OCM's suites
// do without; Portolan's agent deletes in the foreground, which the garbage collector carries out.
func ControllerManager(ctx context.Context, kubeconfig string) error {
	program := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-controller-manager")
	return run(ctx, program, []string{
		"--kubeconfig", kubeconfig,
		"--controllers=garbage-collector-controller,namespace-controller",
		"--leader-elect=false",
		"--secure-port=0",
	})
}

func run(ctx context.Context, program string, arguments []string) error {
	name := fmt.Sprintf("%03d-%s-%s.log", started.Add(1), filepath.Base(program), strings.TrimLeft(arguments[0], "-"))
	log, err := os.Create(filepath.Join(os.Getenv("PORTOLAN_LOGS"), name))
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintln(log, program, strings.Join(arguments, " "))
	command := exec.CommandContext(ctx, program, arguments...)
	command.Stdout, command.Stderr = log, log
	if err := command.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s %s ended: %w; see %s", program, arguments[0], err, log.Name())
	}
	return nil
}

// Kubeconfig writes the configuration of a client into a new file.
func Kubeconfig(config *rest.Config) (string, error) {
	file, err := os.CreateTemp(os.Getenv("PORTOLAN_LOGS"), "kubeconfig-")
	if err != nil {
		return "", err
	}
	defer file.Close()
	const name = "suite"
	written := clientcmdapi.Config{
		CurrentContext: name,
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: config.Host, CertificateAuthorityData: config.CAData},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			name: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken},
		},
	}
	return file.Name(), clientcmd.WriteToFile(written, file.Name())
}
