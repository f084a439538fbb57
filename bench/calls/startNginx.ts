import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endWithProcess } from './endWithProcess.ts';
import { untilOpen } from './untilOpen.ts';

export interface Nginx {
  pid: number;
  port: number;
  /** Resolves when it has ended. */
  stop(): Promise<void>;
}

/** Starts nginx with one worker as a proxy that streams: unbuffered, connections kept on both sides, no log. */
export async function startNginx(
  dir: string,
  { port, upstreamPort }: { port: number; upstreamPort: number },
): Promise<Nginx> {
  await mkdir(dir, { recursive: true });
  const file = join(dir, 'nginx.conf');
  await writeFile(
    file,
    `worker_processes 1; daemon off; pid ${dir}/pid; error_log ${dir}/error.log;
worker_rlimit_nofile 65536;
events { worker_connections 16384; }
http {
  access_log off; client_max_body_size 64m; client_body_buffer_size 8m; client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
  keepalive_requests 1000000000; keepalive_timeout 600s;
  upstream engine { server 127.0.0.1:${upstreamPort}; keepalive 8192; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=8192;
    location / {
      proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`,
  );
  const child = spawn('nginx', ['-p', dir, '-c', file, '-e', `${dir}/error.log`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  endWithProcess(child);
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`nginx ended: ${dir}/error.log`)));
  ended.catch(() => undefined);
  await Promise.race([ended, untilOpen(port)]);
  return { pid: child.pid ?? 0, port, stop };
}
