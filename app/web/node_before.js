// emscripten 3.1.6 takes a fetch for the sign of a browser; Node has one since version 18.
delete globalThis.fetch;
