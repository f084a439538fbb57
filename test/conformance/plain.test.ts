// One file, as its rows and the client library share one stack. The other libraries have clients/clients.deep.test.ts.
import { openaiClient } from '../clients/npm/openaiClient.ts';
import { testClient } from '../clients/testClient.ts';
import './plain/accounts.ts';
import './plain/aggregates.ts';
import './plain/answers.ts';
import './plain/billing.ts';
import './plain/edges.ts';
import './plain/completions.ts';
import './plain/embeddings.ts';
import './plain/errors.ts';
import '../clients/testSamples.ts';

testClient(openaiClient, { isHere: true });
