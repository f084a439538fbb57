import { type PythonProcess, startPython } from '../python/startPython.ts';
import { type ApiClient, jobSeenSchema } from './apiClient.ts';

/** Both packages are in one process, because to import them takes longer than all their calls. */
let python: PythonProcess | undefined;
const open = async (): Promise<void> => {
  python ??= startPython('apis_client.py');
  await python.ready;
};

const toClient = (name: string, sdk: 'openai' | 'anthropic', options: Partial<ApiClient> = {}): ApiClient => ({
  name,
  open,
  async obey(job, access) {
    if (!python) throw new Error('the Python process has not been opened');
    const { crash, ...seen } = JSON.parse(await python.ask({ order: { sdk, ...job }, access }));
    if (crash) throw new Error(crash);
    return jobSeenSchema.parse(seen);
  },
  ...options,
});

/** The clients that Python programs use. The last one closes the process. */
export const pythonApiClients: ApiClient[] = [
  toClient('openai (PyPI), Responses', 'openai', { canParse: true }),
  toClient('anthropic (PyPI)', 'anthropic', { close: async () => python?.close() }),
];
