in vec2 at;
flat in vec4 inside, pattern;
flat in float width;

float dash(float here, float from, float to) { return clamp(min(here - from, to - here) + 0.5, 0.0, 1.0); }

void main() {
    float second = pattern.x + pattern.y, period = second + pattern.z + pattern.w;
    float here = at.x - floor(at.x / period) * period;
    float drawn = dash(here, 0.0, pattern.x) + dash(here, second, second + pattern.z) +
                  dash(here, period, period + pattern.x);
    colour = over(inside, covered(abs(at.y) - width * 0.5) * min(drawn, 1.0), vec4(0.0));
}
