import { aiSdkClient } from './npm/aiSdkClient.ts';
import { langchainClient } from './npm/langchainClient.ts';
import { openaiClient } from './npm/openaiClient.ts';
import { pythonClients } from './python/pythonClients.ts';
import { testClient } from './testClient.ts';
import './agents/testAgents.ts';
import './apis/testApis.ts';
import './testSamples.ts';

for (const client of [openaiClient, aiSdkClient, langchainClient]) testClient(client, { isHere: true });
for (const client of pythonClients) testClient(client, { isHere: process.env.TURNPIKE_TEST_PYTHON !== undefined });
