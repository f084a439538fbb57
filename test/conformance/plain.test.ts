// One file, as its rows share one stack.
import './plain/accounts.ts';
import './plain/aggregates.ts';
import './plain/answers.ts';
import './plain/apis.ts';
import './plain/billing.ts';
import './plain/edges.ts';
import './plain/completions.ts';
import './plain/embeddings.ts';
import './plain/errors.ts';
