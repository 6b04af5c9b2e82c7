package hub

import (
	"context"

	"github.com/openshift/library-go/pkg/controller/controllercmd"

	"open-cluster-management.io/ocm/pkg/portolan/program"
)

// RunControllerManager decides placements with Portolan.
func RunControllerManager(ctx context.Context, controllerContext *controllercmd.ControllerContext) error {
	kubeconfig, err := program.Kubeconfig(controllerContext.KubeConfig)
	if err != nil {
		return err
	}
	return program.Portolan(ctx, "controller", "--kubeconfig", kubeconfig, "--metrics-listen", "127.0.0.1:0")
}
