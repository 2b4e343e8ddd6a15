import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSchemeProblem } from './schemes.ts'

const kept = [
  'https://claude.ai/api/mcp/auth_callback',
  'http://localhost:3000/cb',
  'http://127.0.0.1/cb',
  'http://[::1]:9/cb',
  'cursor://anysphere.cursor-retrieval/oauth/callback',
  'vscode://vscode.github-authentication/did-authenticate',
  'vscode-insiders://x/y',
  'com.example.app:/callback',
  'com.raycast:/oauth',
  'warp://mcp/oauth2callback',
  'windsurf://x/oauth',
  'zed://oauth',
]

const refused = [
  ...[
    'ftp',
    'ftps',
    'sftp',
    'ws',
    'wss',
    'gopher',
    'magnet',
    'ipfs',
    'ldap',
    'telnet',
    'smb',
    'webcal',
  ],
  ...['file', 'filesystem', 'data', 'blob', 'jar', 'cid', 'resource', 'mhtml'],
  ...['javascript', 'vbscript', 'livescript', 'JavaScript', 'java\tscript', 'jscript'],
  ...[
    'about',
    'chrome',
    'chrome-extension',
    'devtools',
    'edge',
    'moz-extension',
    'view-source',
    'microsoft-edge',
  ],
  ...[
    'intent',
    'android-app',
    'mailto',
    'tel',
    'sms',
    'market',
    'search-ms',
    'ms-msdt',
    'itms-services',
  ],
  ...['web+mcp', 'ext+x', 'urn', 'View-Source', 'FILE'],
]

test('an answer goes to https, to http on loopback, and to the own scheme of an application', () => {
  for (const uri of kept) assert.equal(findSchemeProblem(uri), null, uri)
})

for (const scheme of refused)
  test(`an answer never goes to ${JSON.stringify(`${scheme}:`)}, however the rest is written`, () => {
    for (const rest of ['x', '//agent.example/cb', '/cb', '///etc/passwd', 'https://evil.test/'])
      assert.match(findSchemeProblem(`${scheme}:${rest}`) ?? '', /^redirect_uris may use/)
  })

test('plain http to any host but loopback is refused, in any notation', () => {
  for (const host of [
    'evil.test',
    '10.0.0.1',
    '127.0.0.1.evil.test',
    'localhost.evil.test',
    '[::2]',
  ])
    assert.match(findSchemeProblem(`http://${host}/cb`) ?? '', /loopback addresses only/)
})

test('text that is not a URI is left to the parser', () => {
  for (const text of ['', '/relative', 'x', '::']) assert.equal(findSchemeProblem(text), null)
})
