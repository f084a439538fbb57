// One file, as these share one stack.
import './recorded/requests.ts';
import './recorded/apis.ts';
import './recorded/tolerance.ts';
import './recorded/regions.ts';
