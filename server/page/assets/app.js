// Shows a change that waits, in a frame of an MCP client (MCP Apps, 2026-01-26). It decides nothing.
'use strict';

const $ = (selector) => document.querySelector(selector);
const send = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
const INITIALIZE = 1;
const OPEN = 2;

function show({ _meta, isError }) {
  const review = _meta?.['tabellion/review'];
  $('#waits').hidden = !review;
  $('#done').hidden = Boolean(review);
  if (isError) $('#done').textContent = 'The change was refused; nothing waits.';
  if (!review) return;
  // The server escapes what is foreign in it.
  $('#changes').innerHTML = review.html ?? '';
  $('#revision').textContent = review.revision?.slice(0, 10) ?? '';
  $('#open').hidden = !review.url;
  $('#open').onclick = () => send({ id: OPEN, method: 'ui/open-link', params: { url: review.url } });
  $('#command').hidden = !review.command;
  $('#command code').textContent = review.command ?? '';
}

function theme(context) {
  if (context?.theme) document.documentElement.dataset.theme = context.theme;
}

addEventListener('message', ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== '2.0') return;
  if (data.id === INITIALIZE && data.result) {
    theme(data.result.hostContext);
    send({ method: 'ui/notifications/initialized', params: {} });
  } else if (data.id === OPEN && (data.error || data.result?.isError)) {
    $('#command').hidden = false;
    $('#command code').textContent = 'tabellion review --web';
  } else if (data.method === 'ui/notifications/tool-result') {
    show(data.params);
  } else if (data.method === 'ui/notifications/host-context-changed') {
    theme(data.params);
  } else if (data.method && data.id !== undefined) {
    send({ id: data.id, result: {} });
  }
});

new ResizeObserver(() => {
  const { scrollWidth: width, scrollHeight: height } = document.documentElement;
  send({ method: 'ui/notifications/size-changed', params: { width, height } });
}).observe(document.body);

send({
  id: INITIALIZE,
  method: 'ui/initialize',
  params: {
    protocolVersion: '2026-01-26',
    appInfo: { name: 'tabellion-review', version: '1' },
    appCapabilities: {},
  },
});
