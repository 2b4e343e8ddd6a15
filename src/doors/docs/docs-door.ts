/**
 * The documentation door: the OpenAPI document at /openapi.json and the interactive reference at /doc, both
 * public and GET only (reading R4). Every byte comes from this server or its installed packages; for other
 * methods and paths the public server answers `not_found`.
 */
import { readFile } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Prepared, prepare, sendPrepared, toContentDigest } from '../prepared.ts'
import { contentSecurityPolicy, renderDocsPage } from './page.ts'
import { readScalarScript, readScalarVersion } from './scalar-script.ts'

export interface DocsDoorOptions {
  /** Makes the OpenAPI document (`makeOpenApi`); called at its first request, when the address is known. */
  readonly document: () => object
}

const fiveMinutes = 'public, max-age=300'
/** Paths of assets contain their digest or version. */
const forever = { 'cache-control': 'public, max-age=31536000, immutable' }

/** A Fastify plugin; register it without a prefix. */
export async function docsDoor(fastify: FastifyInstance, options: DocsDoorOptions): Promise<void> {
  serveLate(fastify, '/openapi.json', () =>
    prepare(JSON.stringify(options.document()), 'application/json', {
      'access-control-allow-origin': '*',
      'cache-control': fiveMinutes,
      'cross-origin-resource-policy': 'cross-origin',
    }),
  )

  const [start, style, icon, version] = await Promise.all([
    readAsset('start.js', 'text/javascript; charset=utf-8'),
    readAsset('doc.css', 'text/css; charset=utf-8'),
    readAsset('icon.svg', 'image/svg+xml'),
    readScalarVersion(),
  ])
  const assets = {
    scalar: `/doc/assets/scalar-${version}.js`,
    start: `/doc/assets/start-${start.digest}.js`,
    style: `/doc/assets/doc-${style.digest}.css`,
    icon: `/doc/assets/icon-${icon.digest}.svg`,
  }
  serveLate(fastify, assets.start, start.prepare)
  serveLate(fastify, assets.style, style.prepare)
  serveLate(fastify, assets.icon, icon.prepare)
  serveLate(fastify, assets.scalar, prepareScalar)

  serveLate(fastify, '/doc', () =>
    prepare(renderDocsPage(assets), 'text/html; charset=utf-8', {
      'cache-control': fiveMinutes,
      'content-security-policy': contentSecurityPolicy,
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
    }),
  )
}

/** Prepares the content at the first request; others wait for it, and a failed one is retried. */
function serveLate(fastify: FastifyInstance, url: string, make: () => Promise<Prepared>): void {
  let made: Promise<Prepared> | null = null
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    made ??= make()
    try {
      return sendPrepared(request, reply, await made)
    } catch (error) {
      made = null
      throw error
    }
  }
  fastify.route({ method: 'GET', url, exposeHeadRoute: false, handler })
}

async function readAsset(name: string, type: string) {
  const bytes = await readFile(new URL(name, import.meta.url))
  return { digest: toContentDigest(bytes), prepare: () => prepare(bytes, type, forever) }
}

async function prepareScalar(): Promise<Prepared> {
  return prepare(await readScalarScript(), 'text/javascript; charset=utf-8', forever)
}
