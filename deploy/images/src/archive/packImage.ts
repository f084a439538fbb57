import { createHash } from 'node:crypto';
import { link, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Blob, packTar } from './packLayer.ts';

export interface PackedLayer extends Blob {
  file: string;
}

/** The settings of an image for a container engine, in the words of the OCI image specification. */
export interface ImageConfig {
  User: string;
  WorkingDir: string;
  Entrypoint: string[];
  Cmd: string[];
  Env: string[];
  StopSignal: string;
  ExposedPorts?: Record<string, object>;
  Labels: Record<string, string>;
}

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * Writes an image as an OCI archive, which container engines load, without one of them. `reference` is its full name with host
 * and tag. Resolves with the digest of its manifest; the same layers and config have the same.
 */
export async function packImage(
  reference: string,
  { layers, config, file }: { layers: PackedLayer[]; config: ImageConfig; file: string },
): Promise<string> {
  const work = `${file}.partial`;
  await rm(work, { recursive: true, force: true });
  await mkdir(join(work, 'blobs/sha256'), { recursive: true });
  const put = async (content: object): Promise<Blob> => {
    const text = JSON.stringify(content);
    const digest = createHash('sha256').update(text).digest('hex');
    await writeFile(join(work, 'blobs/sha256', digest), text);
    return { digest, size: Buffer.byteLength(text) };
  };
  for (const layer of layers) await link(layer.file, join(work, 'blobs/sha256', layer.digest));

  const architecture = ARCHITECTURES[process.arch] ?? process.arch;
  const configBlob = await put({
    created: new Date(0).toISOString(),
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => `sha256:${digest}`) },
  });
  const manifest = await put({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: toDescriptor('config.v1+json', configBlob),
    // Layers are not compressed. Loading from this disk would only unpack them, and a push compresses them.
    layers: layers.map((layer) => toDescriptor('layer.v1.tar', layer)),
  });
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...toDescriptor('manifest.v1+json', manifest),
        platform: { architecture, os: 'linux' },
        annotations: {
          'io.containerd.image.name': reference,
          'org.opencontainers.image.ref.name': reference.slice(reference.lastIndexOf(':') + 1),
        },
      },
    ],
  };
  await writeFile(join(work, 'index.json'), JSON.stringify(index));
  await writeFile(join(work, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  // The same in Docker's older words: it reads nothing else without a registry.
  const toPath = ({ digest }: Blob): string => `blobs/sha256/${digest}`;
  const docker = [{ Config: toPath(configBlob), RepoTags: [reference], Layers: layers.map(toPath) }];
  await writeFile(join(work, 'manifest.json'), JSON.stringify(docker));
  await packTar(work, ['oci-layout', 'index.json', 'manifest.json', 'blobs'], `${file}.new`);
  await rename(`${file}.new`, file);
  await rm(work, { recursive: true });
  return `sha256:${manifest.digest}`;
}

const toDescriptor = (type: string, { digest, size }: Blob) => ({
  mediaType: `application/vnd.oci.image.${type}`,
  digest: `sha256:${digest}`,
  size,
});
