import { mkdirSync, writeFileSync } from 'node:fs';
import { becomeServer, readVariable } from './becomeServer.ts';

// Start script of the S3 image of `local`: S3Proxy over a folder, with one bucket and one access key.

const PROPERTIES_FILE = '/data/s3proxy.properties';
const properties = {
  's3proxy.endpoint': 'http://0.0.0.0:8080',
  's3proxy.authorization': 'aws-v4',
  's3proxy.identity': readVariable('S3_ACCESS_KEY_ID'),
  's3proxy.credential': readVariable('S3_SECRET_ACCESS_KEY'),
  'jclouds.provider': 'filesystem-nio2',
  'jclouds.filesystem.basedir': '/data/buckets',
  // Asked for, and of no use to a folder.
  'jclouds.identity': 'local',
  'jclouds.credential': 'local',
};
// To this server a folder is a bucket.
for (const bucket of readVariable('S3_BUCKET').split(',')) mkdirSync(`/data/buckets/${bucket}`, { recursive: true });
const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}`);
writeFileSync(PROPERTIES_FILE, `${lines.join('\n')}\n`, { mode: 0o600 });
becomeServer('/opt/java/bin/java', [
  ...['-Xms64m', '-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:-UsePerfData'],
  '-Dlogback.configurationFile=/opt/s3proxy/logback.xml',
  ...['-cp', '/opt/s3proxy/jars/*', 'org.gaul.s3proxy.Main', '--properties', PROPERTIES_FILE],
]);
