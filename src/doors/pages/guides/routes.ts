/** The guides of `docs/`, for everybody: as pages, as Markdown, and as a list for language models. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { PagesContext } from '../context.ts'
import { renderGuide, renderIndex } from './guide-page.ts'
import { guidesPath, indexName, type Library, makeLibrary, toGuidePath } from './library.ts'

interface GuidePath {
  Params: { readonly '*': string }
}

const markdownType = 'text/markdown; charset=utf-8'

export function addGuideRoutes(scope: FastifyInstance, context: PagesContext): void {
  const library = makeLibrary()

  scope.get(guidesPath, async (request, reply) => {
    const visit = await context.visits.begin(request, reply)
    const guide = await library.find(indexName)
    if (guide === null) return reply.callNotFound()
    return context.show(reply, visit, { title: guide.title, body: renderIndex(guide) })
  })

  scope.get<GuidePath>(`${guidesPath}/*`, async (request, reply) => {
    const asked = request.params['*']
    const file = await library.findFile(asked)
    if (file !== null) return sendFile(reply, asked, file)
    const isMarkdown = asked.endsWith('.md')
    const guide = await library.find(isMarkdown ? asked.slice(0, -'.md'.length) : asked)
    if (guide === null) return reply.callNotFound()
    if (isMarkdown) return reply.type(markdownType).send(guide.markdown)
    const visit = await context.visits.begin(request, reply)
    return context.show(reply, visit, { title: guide.title, body: renderGuide(guide) })
  })

  scope.get('/llms.txt', async (_request, reply) => {
    return sendList(reply, library, context.origins().base)
  })
}

/** As a download: a script of another program is never run here. */
function sendFile(reply: FastifyReply, name: string, text: string): FastifyReply {
  const shortName = name.slice(name.lastIndexOf('/') + 1)
  return reply
    .type(name.endsWith('.json') ? 'application/json' : 'text/plain; charset=utf-8')
    .header('content-disposition', `attachment; filename="${shortName}"`)
    .send(text)
}

/** The index with the addresses of the Markdown, after a summary (llmstxt.org). */
async function sendList(reply: FastifyReply, library: Library, base: string) {
  const index = await library.find(indexName)
  if (index === null) return reply.callNotFound()
  const known = new Set<string>()
  for (const [, name = ''] of index.markdown.matchAll(/\(([\w/-]+)\.md/g)) {
    if ((await library.find(name)) !== null) known.add(name)
  }
  const list = index.markdown
    .replace(/^# .*$/m, summary)
    .replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, (_link, words: string, href: string) => {
      const target = toGuidePath(indexName, href, known)
      return target === null ? words : `[${words}](${base}${target.replace(/(#.*)?$/, '.md$1')})`
    })
  const reference = `## Reference\n\n- [OpenAPI](${base}/openapi.json): every operation of REST, with its answers and errors\n`
  return reply.type('text/plain; charset=utf-8').send(`${list.trimEnd()}\n\n${reference}`)
}

const summary = `# Tributary

> A self-hosted, read-only window on a person's banks and brokers: a REST API, tools for agents (MCP) and signed events. Balances, transactions, holdings and trades are fetched live and never stored.`
