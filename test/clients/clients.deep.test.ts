import { aiSdkClient } from './npm/aiSdkClient.ts';
import { langchainClient } from './npm/langchainClient.ts';
import { pythonClients } from './python/pythonClients.ts';
import { testClient } from './testClient.ts';

// The client libraries besides openai, which conformance/plain.test.ts has.
for (const client of [aiSdkClient, langchainClient]) testClient(client, { isHere: true });
for (const client of pythonClients) testClient(client, { isHere: process.env.TURNPIKE_TEST_PYTHON !== undefined });
