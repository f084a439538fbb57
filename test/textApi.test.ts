// One file, as these share one stack.
import './text-api/brokenStreams.ts';
import './text-api/completions.ts';
import './text-api/embeddings.ts';
import './text-api/models.ts';
import './text-api/tools.ts';
import './text-api/usage.ts';
