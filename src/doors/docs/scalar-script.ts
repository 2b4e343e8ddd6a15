/**
 * Extracts the script of the interactive reference from its installed package: the package contains its
 * browser bundle only inside a Fastify plugin, which is requested once in a separate Fastify instance.
 * Nothing else of the plugin is used.
 */
import { readFile } from 'node:fs/promises'
import Fastify from 'fastify'

const packageName = '@scalar/fastify-api-reference'

/** The installed version, used in the script's path. */
export async function readScalarVersion(): Promise<string> {
  const manifest = new URL('../package.json', import.meta.resolve(packageName))
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string }
  return version
}

/**
 * The bundle, about 4 MB. The package is loaded only when the page is first opened: loading takes a tenth of
 * a second and tens of megabytes, which a server whose reference is never opened does not need.
 */
export async function readScalarScript(): Promise<Buffer> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const inner = Fastify()
  try {
    await inner.register(scalar, { routePrefix: '/doc', configuration: { url: '/openapi.json' } })
    const response = await inner.inject('/doc/js/scalar.js')
    if (response.statusCode !== 200) throw new Error(`${packageName} does not serve its script`)
    return response.rawPayload
  } finally {
    await inner.close()
  }
}
