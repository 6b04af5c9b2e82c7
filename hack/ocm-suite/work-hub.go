package hub

import (
	"context"
	"path/filepath"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/ocm/pkg/portolan/program"
)

// RunWorkHubManager carries out replica sets and deletes finished works with Portolan. The suite installs the
// definitions that OCM's work controllers read; Portolan's controllers wait for those of clusters and sets, too.
func (c *WorkHubManagerConfig) RunWorkHubManager(ctx context.Context, controllerContext *controllercmd.ControllerContext) error {
	var definitions []string
	for _, pattern := range []string{
		"v1/*_managedclusters.crd.yaml",
		"v1alpha1/*_addonplacementscores.crd.yaml",
		"v1beta2/*_managedclustersets.crd.yaml",
		"v1beta2/*_managedclustersetbindings.crd.yaml",
	} {
		found, err := filepath.Glob(filepath.Join("vendor/open-cluster-management.io/api/cluster", pattern))
		if err != nil {
			return err
		}
		definitions = append(definitions, found...)
	}
	_, err := envtest.InstallCRDs(controllerContext.KubeConfig, envtest.CRDInstallOptions{
		Paths:              definitions,
		ErrorIfPathMissing: true,
	})
	if err != nil {
		return err
	}
	kubeconfig, err := program.Kubeconfig(controllerContext.KubeConfig)
	if err != nil {
		return err
	}
	return errors.AggregateGoroutines(
		func() error { return program.ControllerManager(ctx, kubeconfig) },
		func() error {
			// The suite has neither ManagedClusters nor bindings.
			return program.Portolan(ctx, "controller", "--kubeconfig", kubeconfig, "--metrics-listen", "127.0.0.1:0",
				"--require-bindings", "off")
		},
	)
}
