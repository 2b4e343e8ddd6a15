/**
 * The files that pages need: Pico from its package, our own style sheet and script, the logo for tabs and for
 * home screens; each path contains the digest of its bytes.
 */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'
import { type Prepared, prepare, sendPrepared } from '../prepared.ts'

export interface Asset {
  /** Contains the digest of the content, so that clients may cache it without limit. */
  readonly path: string
  readonly type: string
  readonly bytes: Buffer
}

export interface Assets {
  readonly pico: Asset
  readonly pages: Asset
  readonly icon: Asset
  readonly touchIcon: Asset
  readonly script: Asset
}

export async function readAssets(): Promise<Assets> {
  const pico = createRequire(import.meta.url).resolve('@picocss/pico/css/pico.min.css')
  const [picoBytes, pagesBytes, iconBytes, touchIconBytes, scriptBytes] = await Promise.all([
    readFile(pico, 'utf8').then(styleLinks),
    readFile(new URL('./pages.css', import.meta.url)),
    readFile(new URL('./icon.svg', import.meta.url)),
    readFile(new URL('./touch-icon.png', import.meta.url)),
    readFile(new URL('./enhance.js', import.meta.url)),
  ])
  return {
    pico: toAsset('pico', 'css', picoBytes),
    pages: toAsset('pages', 'css', pagesBytes),
    icon: toAsset('icon', 'svg', iconBytes),
    touchIcon: toAsset('touch-icon', 'png', touchIconBytes),
    script: toAsset('enhance', 'js', scriptBytes),
  }
}

/** Pico styles links as buttons by role; ours keep the role of a link and have a class. */
function styleLinks(pico: string): Buffer {
  return Buffer.from(pico.replaceAll('[role=button]', '.button'))
}

const types = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
} as const

function toAsset(name: string, ending: keyof typeof types, bytes: Buffer): Asset {
  const digest = hash('sha256', bytes).slice(0, 16)
  return { path: `/assets/${name}-${digest}.${ending}`, type: types[ending], bytes }
}

const forever = { 'cache-control': 'public, max-age=31536000, immutable' }

/** GET only. Compressed where taken: on a first visit the style sheets are most of a page. */
export function addAssetRoutes(scope: FastifyInstance, assets: Assets): void {
  for (const { path, type, bytes } of Object.values(assets)) {
    let made: Promise<Prepared> | null = null
    scope.get(path, async (request, reply) => {
      // On the first request, to keep the start fast.
      made ??= prepare(bytes, type, forever)
      return sendPrepared(request, reply, await made)
    })
  }
  // Browsers that ignore the link in the page ask for this address.
  scope.get('/favicon.ico', async (_request, reply) => reply.redirect(assets.icon.path, 302))
}
