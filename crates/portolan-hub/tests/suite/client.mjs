// What the JavaScript client does with a server: argv is the folder of its modules, kubeconfig, namespace, group of the
// widgets.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const [modules, kubeconfig, namespace, group] = process.argv.slice(2);
const k8s = createRequire(`${modules}/`)('@kubernetes/client-node');
const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(k8s.CoreV1Api);
const custom = config.makeApiClient(k8s.CustomObjectsApi);

async function refused(code, reason, promise) {
  const error = await promise.then(() => assert.fail(`${reason} was expected`), (error) => error);
  const body = typeof error.body === 'string' ? JSON.parse(error.body) : error.body;
  assert.deepEqual([error.code, body.reason], [code, reason]);
}

async function configMaps() {
  const body = { metadata: { name: 'j', labels: { app: 'web' } }, data: { key: '1' } };
  const made = await core.createNamespacedConfigMap({ namespace, body });
  assert.ok(made.metadata.uid);
  await refused(409, 'AlreadyExists', core.createNamespacedConfigMap({ namespace, body }));
  const read = await core.readNamespacedConfigMap({ name: 'j', namespace });
  read.data.key = '2';
  const replaced = await core.replaceNamespacedConfigMap({ name: 'j', namespace, body: read });
  assert.equal(replaced.data.key, '2');
  await refused(409, 'Conflict', core.replaceNamespacedConfigMap({ name: 'j', namespace, body: read }));
  const listed = await core.listNamespacedConfigMap({ namespace, labelSelector: 'app=web' });
  assert.deepEqual(listed.items.map((item) => item.metadata.name), ['j']);
  await core.deleteNamespacedConfigMap({ name: 'j', namespace });
  await refused(404, 'NotFound', core.readNamespacedConfigMap({ name: 'j', namespace }));
}

async function widgets() {
  const place = { group, version: 'v1', namespace, plural: 'widgets' };
  const widget = (size) => ({ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'j' }, spec: { size } });
  await refused(422, 'Invalid', custom.createNamespacedCustomObject({ ...place, body: widget(-1) }));
  const made = await custom.createNamespacedCustomObject({ ...place, body: widget(1) });
  assert.deepEqual(made.spec, { size: 1, colour: 'red' });
  made.spec.size = 2;
  const replaced = await custom.replaceNamespacedCustomObject({ ...place, name: 'j', body: made });
  assert.equal(replaced.metadata.generation, 2);
  await custom.deleteNamespacedCustomObject({ ...place, name: 'j' });
}

/** An informer: a list, then a watch. */
async function informer() {
  const list = () => core.listNamespacedConfigMap({ namespace });
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, list);
  const seen = [];
  const done = new Promise((resolve, reject) => {
    for (const verb of ['add', 'update', 'delete']) {
      informer.on(verb, (object) => {
        if (object.metadata.name !== 'seen') return;
        seen.push(verb);
        if (verb === 'delete') resolve();
      });
    }
    informer.on('error', reject);
  });
  await informer.start();
  const body = { metadata: { name: 'seen' }, data: { key: '1' } };
  const made = await core.createNamespacedConfigMap({ namespace, body });
  made.data.key = '2';
  await core.replaceNamespacedConfigMap({ name: 'seen', namespace, body: made });
  await core.deleteNamespacedConfigMap({ name: 'seen', namespace });
  await done;
  await informer.stop();
  assert.deepEqual(seen, ['add', 'update', 'delete']);
}

await configMaps();
await widgets();
await informer();
console.log('everything held');
process.exit(0);
