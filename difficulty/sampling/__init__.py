"""Draw answers from vLLM servers: client, servers, journal, and a scripted server for tests."""
