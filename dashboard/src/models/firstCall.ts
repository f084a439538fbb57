import { kindOf, type Model } from './readModels.ts';

export const LANGUAGES = ['curl', 'Python', 'Node'] as const;
export type Language = (typeof LANGUAGES)[number];

interface Call {
  baseUrl: string;
  /** The secret of a key, or a placeholder. */
  secret: string;
  /** The id of a chat model, or a placeholder. */
  model: string;
}

/** A first chat call in each language. It lists the models of the region before. */
export const CHAT_CALLS: Record<Language, (call: Call) => string> = {
  curl: ({ baseUrl, secret, model }) => `curl ${baseUrl}/models -H "Authorization: Bearer ${secret}"

curl ${baseUrl}/chat/completions \\
  -H "Authorization: Bearer ${secret}" -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
  Python: ({ baseUrl, secret, model }) => `from openai import OpenAI

client = OpenAI(base_url="${baseUrl}", api_key="${secret}")
print([model.id for model in client.models.list()])

answer = client.chat.completions.create(
    model="${model}", messages=[{"role": "user", "content": "Hello"}]
)
print(answer.choices[0].message.content)`,
  Node: ({ baseUrl, secret, model }) => `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: '${secret}' });
for await (const { id } of client.models.list()) console.log(id);

const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.choices[0].message.content);`,
};

/** Writes a first call of a model of any kind for `curl`. `given` are fields of its JSON body. */
export function toCurl(model: Model, { baseUrl, secret }: Omit<Call, 'model'>, given: object = {}): string {
  const { id, capabilities } = model;
  const send = (path: string, fields: object, rest = '') => `curl ${baseUrl}${path} \\
  -H "Authorization: Bearer ${secret}" -H "Content-Type: application/json" \\
  -d '${JSON.stringify({ model: id, ...fields, ...given })}'${rest}`;
  switch (kindOf(model)) {
    case 'chat':
      return CHAT_CALLS.curl({ baseUrl, secret, model: id });
    case 'embeddings':
      return send('/embeddings', { input: 'Hello' });
    case 'images':
      return send('/images/generations', { prompt: 'A red bicycle' });
    case 'videos':
      return send('/videos', { prompt: 'A red bicycle on a beach' });
    case 'speech':
      return send('/audio/speech', { input: 'Hello', voice: capabilities?.voices?.[0] }, ' --output hello.mp3');
    case 'transcripts':
      return `curl ${baseUrl}/audio/transcriptions \\
  -H "Authorization: Bearer ${secret}" -F file=@recording.mp3 -F model=${id}`;
  }
}
