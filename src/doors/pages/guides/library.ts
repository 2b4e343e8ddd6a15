/**
 * The documents of `docs/` as guides: their names, titles, HTML and Markdown, and the files that recipes have
 * people copy. They are read at the first request. A name is the path without its ending, e.g.
 * `operations/install`; the index is `README`. A file keeps its ending.
 */
import { readdir, readFile } from 'node:fs/promises'
import { lazily } from '#kernel/lazily.ts'
import { type Html, ownHtml } from '../html.ts'

export interface Guide {
  readonly name: string
  readonly title: string
  readonly markdown: string
  readonly html: Html
}

export interface Library {
  /** Null: there is no guide of this name. */
  find(name: string): Promise<Guide | null>
  /** The text of a file that a recipe leads to. Null: there is none of this name. */
  findFile(name: string): Promise<string | null>
}

const folder = new URL('../../../../docs/', import.meta.url)
export const indexName = 'README'
export const guidesPath = '/guides'

export const pathOfGuide = (name: string): string =>
  name === indexName ? guidesPath : `${guidesPath}/${name}`

const filesFolder = 'recipes/files/'

export function makeLibrary(): Library {
  const names = lazily(async () => {
    const files = (await readdir(folder, { recursive: true })).map((file) =>
      file.replaceAll('\\', '/'),
    )
    const pages = files.filter((file) => /\.md$/.test(file))
    return new Set([
      ...pages.map((file) => file.slice(0, -'.md'.length)),
      ...files.filter((file) => file.startsWith(filesFolder)),
    ])
  })
  const made = new Map<string, Promise<Guide>>()

  return {
    async find(name) {
      const known = await names()
      if (!known.has(name) || name.startsWith(filesFolder)) return null
      const guide = made.get(name) ?? readGuide(name, known)
      made.set(name, guide)
      guide.catch(() => made.delete(name))
      return guide
    },
    async findFile(name) {
      const isThere = name.startsWith(filesFolder) && (await names()).has(name)
      return isThere ? readFile(new URL(name, folder), 'utf8') : null
    },
  }
}

async function readGuide(name: string, known: ReadonlySet<string>): Promise<Guide> {
  const markdown = await readFile(new URL(`${name}.md`, folder), 'utf8')
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? name
  const { Marked } = await import('marked')
  const marked = new Marked({ gfm: true })
  marked.use({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${toSlug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens)
        const target = toGuidePath(name, href, known)
        return target === null ? words : `<a href="${target}">${words}</a>`
      },
    },
    hooks: {
      // Wide tables and long lines scroll in their own box, also with the keyboard.
      postprocess: (html) =>
        html
          .replaceAll('<table>', '<div class="scroll" tabindex="0"><table>')
          .replaceAll('</table>', '</table></div>')
          .replaceAll('<pre>', '<pre tabindex="0">'),
    },
  })
  return { name, title, markdown, html: ownHtml(await marked.parse(markdown)) }
}

/** The anchor of a heading, as GitHub makes it. */
export function toSlug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
}

/** Where a link of a guide leads on this server; null: to a file that it does not serve. */
export function toGuidePath(from: string, href: string, known: ReadonlySet<string>): string | null {
  if (/^(?:https?:|#)/.test(href)) return href
  const base = new URL(`file:///docs/${from}`)
  const { pathname, hash } = new URL(href, base)
  const path = pathname.slice('/docs/'.length)
  const name = path.startsWith(filesFolder) ? path : /^(.+)\.md$/.exec(path)?.[1]
  return name !== undefined && known.has(name) ? `${pathOfGuide(name)}${hash}` : null
}
