// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Google's Node.js clients against the emulator. Started by the Go test of the
// parent folder with EMULATOR_HOST=host:port.

import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import run from '@google-cloud/run';
import secretManager from '@google-cloud/secret-manager';
import {Storage} from '@google-cloud/storage';
import {grpc} from 'google-gax';

const host = process.env.EMULATOR_HOST;
assert.ok(host, 'EMULATOR_HOST must name the emulator');
const [address, port] = host.split(':');
const project = 'node-conformance';
const parent = `projects/${project}/locations/us-central1`;

const transports = {
  grpc: {
    apiEndpoint: address, port: Number(port),
    sslCreds: grpc.credentials.createInsecure(),
  },
  rest: {
    apiEndpoint: address, port: Number(port), protocol: 'http', fallback: true,
    auth: {
      // The emulator takes no credentials; this stands in for the library's own look-up of them.
      getClient: async () => ({getRequestHeaders: async () => ({})}),
      getProjectId: async () => project,
      fetch: (url, options) => fetch(url, options),
      getUniverseDomain: async () => 'googleapis.com',
    },
  },
};

const program = script => ({
  template: {template: {maxRetries: 0, timeout: {seconds: 60}, containers: [{image: 'example.com/program:1', command: ['/bin/sh'], args: ['-c', script]}]}},
});

// What an operation returns has enums as numbers in this library, other answers have their names.
const assertSucceeded = condition => assert.ok([4, 'CONDITION_SUCCEEDED'].includes(condition.state), JSON.stringify(condition));

for (const [name, options] of Object.entries(transports)) {
  test(`run over ${name}`, async t => {
    const jobs = new run.v2.JobsClient(options);
    const executions = new run.v2.ExecutionsClient(options);
    const tasks = new run.v2.TasksClient(options);
    after(() => Promise.all([jobs.close(), executions.close(), tasks.close()]));

    const jobId = `node-${name}`;
    const [creating] = await jobs.createJob({parent, jobId, job: program('echo hello; exit 0')});
    const [created] = await creating.promise();
    assert.equal(created.name, `${parent}/jobs/${jobId}`);
    assert.equal(created.template.template.maxRetries, 0);
    assertSucceeded(created.terminalCondition);
    assert.ok(created.uid);

    await t.test('a second create is refused', async () => {
      await assert.rejects(jobs.createJob({parent, jobId, job: program('true')}), err => err.code === 6 || err.code === 409 || /already exists/.test(err.message));
    });

    await t.test('update replaces and raises the generation', async () => {
      created.labels = {team: 'ml'};
      created.template.taskCount = 2;
      const [updating] = await jobs.updateJob({job: created});
      const [updated] = await updating.promise();
      assert.equal(updated.labels.team, 'ml');
      assert.equal(updated.template.taskCount, 2);
      assert.equal(String(updated.generation), '2');
    });

    await t.test('a run ends with its execution and tasks', async () => {
      const [running] = await jobs.runJob({name: created.name});
      const [execution] = await running.promise();
      assert.equal(execution.succeededCount, 2);
      assertSucceeded(execution.conditions.find(c => c.type === 'Completed'));
      const [all] = await tasks.listTasks({parent: execution.name});
      assert.deepEqual(all.map(task => task.index).sort(), [0, 1]);
      const [listed] = await executions.listExecutions({parent: created.name});
      assert.equal(listed[0].name, execution.name);
    });

    await t.test('a failed run ends its operation with an error', async () => {
      const [running] = await jobs.runJob({name: created.name, overrides: {taskCount: 1, containerOverrides: [{args: ['-c', 'exit 7']}]}});
      await assert.rejects(running.promise(), /exit code: 7/);
    });

    const [listed] = await jobs.listJobs({parent});
    assert.ok(listed.some(job => job.name === created.name));
    const [deleting] = await jobs.deleteJob({name: created.name});
    await deleting.promise();
    await assert.rejects(jobs.getJob({name: created.name}), /does not exist/);
  });
}

for (const [name, options] of Object.entries(transports)) {
  test(`secret manager over ${name}`, async t => {
    const client = new secretManager.SecretManagerServiceClient(options);
    after(() => client.close());
    const [secret] = await client.createSecret({parent: `projects/${project}`, secretId: name, secret: {replication: {automatic: {}}}});
    assert.match(secret.name, /^projects\/\d+\/secrets\//);
    for (const payload of ['one', 'two']) {
      await client.addSecretVersion({parent: secret.name, payload: {data: Buffer.from(payload)}});
    }
    const [updated] = await client.updateSecret({secret: {name: secret.name, versionAliases: {old: 1}}, updateMask: {paths: ['version_aliases']}});
    assert.equal(String(updated.versionAliases.old), '1');

    await t.test('versions', async () => {
      for (const [version, payload] of [['latest', 'two'], ['old', 'one'], ['1', 'one']]) {
        const [got] = await client.accessSecretVersion({name: `projects/${project}/secrets/${name}/versions/${version}`});
        assert.equal(Buffer.from(got.payload.data, 'base64').toString(), payload);
      }
      await client.disableSecretVersion({name: `${secret.name}/versions/2`});
      await assert.rejects(client.accessSecretVersion({name: `${secret.name}/versions/latest`}), /is in DISABLED state/);
      const [versions] = await client.listSecretVersions({parent: secret.name});
      assert.deepEqual(versions.map(version => version.name.split('/').pop()), ['2', '1']);
    });

    await t.test('policy', async () => {
      const [policy] = await client.getIamPolicy({resource: secret.name, options: {requestedPolicyVersion: 3}});
      policy.bindings = [{role: 'roles/secretmanager.secretAccessor', members: ['user:someone@example.com']}];
      const [written] = await client.setIamPolicy({resource: secret.name, policy});
      assert.deepEqual(written.bindings[0].members, ['user:someone@example.com']);
      await assert.rejects(client.setIamPolicy({resource: secret.name, policy}), /concurrent policy changes/);
      const [granted] = await client.testIamPermissions({resource: secret.name, permissions: ['secretmanager.secrets.setIamPolicy']});
      assert.equal(granted.permissions.length, 1);
    });

    await client.deleteSecret({name: secret.name});
    await assert.rejects(client.getSecret({name: secret.name}), /not found/);
  });
}

test('storage', async t => {
  const storage = new Storage({apiEndpoint: `http://${host}`, projectId: project});
  const [bucket] = await storage.createBucket('node-conformance-bucket', {location: 'us-central1', iamConfiguration: {uniformBucketLevelAccess: {enabled: true}, publicAccessPrevention: 'enforced'}, softDeletePolicy: {retentionDurationSeconds: 0}});

  await t.test('metadata', async () => {
    const [metadata] = await bucket.getMetadata();
    assert.equal(metadata.location, 'US-CENTRAL1');
    assert.equal(metadata.iamConfiguration.publicAccessPrevention, 'enforced');
    const [changed] = await bucket.setMetadata({labels: {team: 'ml'}});
    assert.equal(changed.labels.team, 'ml');
  });

  await t.test('objects, small and resumable', async () => {
    await bucket.file('run/step-1').save('one', {resumable: false});
    const large = Buffer.alloc(3 << 20, 7);
    await bucket.file('run/step-2').save(large, {resumable: true, chunkSize: 1 << 20});
    const [back] = await bucket.file('run/step-2').download({validation: 'crc32c'});
    assert.equal(Buffer.compare(back, large), 0);
    const [files] = await bucket.getFiles({prefix: 'run/'});
    assert.deepEqual(files.map(file => file.name), ['run/step-1', 'run/step-2']);
    await bucket.file('run/step-1').copy(bucket.file('run/copy'));
    assert.deepEqual((await bucket.file('run/copy').exists())[0], true);
  });

  await t.test('policy', async () => {
    const [policy] = await bucket.iam.getPolicy({requestedPolicyVersion: 3});
    policy.bindings.push({role: 'roles/storage.objectViewer', members: ['user:someone@example.com']});
    const [written] = await bucket.iam.setPolicy(policy);
    assert.ok(written.bindings.some(b => b.role === 'roles/storage.objectViewer'));
    await assert.rejects(bucket.iam.setPolicy(policy), err => err.code === 412);
    const [permissions] = await bucket.iam.testPermissions(['storage.objects.create']);
    assert.equal(permissions['storage.objects.create'], true);
  });

  await t.test('a bucket with objects is kept', async () => {
    await assert.rejects(bucket.delete(), /not empty/);
    await bucket.deleteFiles({force: true});
    await bucket.delete();
    assert.equal((await bucket.exists())[0], false);
  });
});
