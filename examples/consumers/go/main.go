// Follows one decision with a client-go informer and prints what changes.
//
//	follow KUBECONFIG NAMESPACE DECISION-KEY
//
// Prints a JSON object a line: {"add": cluster}, {"remove": cluster}, {"empty": true}, {"gone": true}. It knows nothing
// of revisions and takes the union of the slices, as a consumer of the plain standard does.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const key = "multicluster.x-k8s.io/decision-key"

var slices = schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1alpha1", Resource: "placementdecisions"}

// clusters are those of some slices, each once. An entry without a namespace means that of the slice.
func clusters(objects []runtime.Object) map[string]bool {
	found := map[string]bool{}
	for _, object := range objects {
		slice := object.(*unstructured.Unstructured)
		entries, _, _ := unstructured.NestedSlice(slice.Object, "decisions")
		for _, raw := range entries {
			entry, ok := raw.(map[string]interface{})
			if !ok {
				continue
			}
			namespace, _, _ := unstructured.NestedString(entry, "clusterProfileRef", "namespace")
			name, _, _ := unstructured.NestedString(entry, "clusterProfileRef", "name")
			if name == "" {
				name, _, _ = unstructured.NestedString(entry, "clusterName")
			}
			if namespace == "" {
				namespace = slice.GetNamespace()
			}
			if name != "" {
				found[namespace+"/"+name] = true
			}
		}
	}
	return found
}

func say(what string, value interface{}) {
	line, _ := json.Marshal(map[string]interface{}{what: value})
	fmt.Println(string(line))
}

// tell says what makes now of before, in order.
func tell(what string, now, before map[string]bool) {
	var names []string
	for name := range now {
		if !before[name] {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		say(what, name)
	}
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: follow KUBECONFIG NAMESPACE DECISION-KEY")
		os.Exit(2)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		panic(err)
	}
	only := func(options *metav1.ListOptions) { options.LabelSelector = key + "=" + os.Args[3] }
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, os.Args[2], only)
	informer := factory.ForResource(slices)

	// What is told is the difference between what was told and what the cache has, so events only say when to look.
	changed := make(chan struct{}, 1)
	look := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(interface{}) { look() },
		UpdateFunc: func(interface{}, interface{}) { look() },
		DeleteFunc: func(interface{}) { look() },
	})
	factory.Start(nil)
	if !cache.WaitForCacheSync(nil, informer.Informer().HasSynced) {
		panic("the cache was never complete")
	}
	look()
	var told map[string]bool // nil: nothing decided yet, which is not the same as decided for none
	for range changed {
		objects, err := informer.Lister().List(labels.Everything())
		if err != nil {
			panic(err)
		}
		now := clusters(objects)
		tell("remove", told, now)
		tell("add", now, told)
		switch {
		case len(objects) == 0 && told != nil:
			say("gone", true)
		case len(objects) > 0 && len(now) == 0 && (told == nil || len(told) > 0):
			say("empty", true)
		}
		told = now
		if len(objects) == 0 {
			told = nil
		}
	}
}
